package workflows_test

import (
	"time"

	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
)

// patience is the time for which a busy machine may deprive a workflow of its processor. The SDK's own limits, a second
// for its check for deadlocks and three for the whole test, are exceeded there by workflows that do not block.
const patience = 30 * time.Second

// newEnvironment is the suite's, for busy machines.
func newEnvironment(suite *testsuite.WorkflowTestSuite) *testsuite.TestWorkflowEnvironment {
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: patience})
	env.SetTestTimeout(patience)
	return env
}
