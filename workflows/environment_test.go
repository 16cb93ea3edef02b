package workflows_test

import (
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
)

// waitTimeout is the timeout of a workflow test on a busy machine. The SDK's defaults are one second for its deadlock
// detector and three seconds for the whole test. On a busy machine, even workflows that do not block can exceed these
// defaults.
const waitTimeout = 30 * time.Second

// newEnvironment returns a test environment with timeouts for busy machines.
func newEnvironment(logger log.Logger) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(logger)
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: waitTimeout})
	env.SetTestTimeout(waitTimeout)
	return env
}
