package workflows_test

import (
	"time"

	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
)

// patience is how long a busy machine may leave a workflow without a processor: the SDK's own limits, a second for its
// check for deadlocks and three for the whole test, are reached there by workflows that block nothing.
const patience = 30 * time.Second

// newEnvironment is the suite's, for busy machines.
func newEnvironment(suite *testsuite.WorkflowTestSuite) *testsuite.TestWorkflowEnvironment {
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: patience})
	env.SetTestTimeout(patience)
	return env
}
