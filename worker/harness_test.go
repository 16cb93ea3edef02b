package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"countersign/activities"
	"countersign/test/kit"
	"countersign/worker"
)

// The maximum time for which tests wait for a schedule, and the interval between their checks.
const waitTimeout, pollInterval = time.Minute, 50 * time.Millisecond

func dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), kit.Temporal(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// startWorkers runs activities until the test ends.
func startWorkers(t *testing.T, c client.Client, a *activities.Activities) {
	t.Helper()
	ws := worker.New(c, a, worker.Deployment{}, nil)
	require.NoError(t, ws.Start())
	t.Cleanup(ws.Stop)
}

// firstRun waits for the first workflow of a schedule and returns the workflow's ID.
func firstRun(t *testing.T, schedule client.ScheduleHandle) (id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		d, err := schedule.Describe(t.Context())
		if err != nil || len(d.Info.RecentActions) == 0 {
			return false
		}
		id = d.Info.RecentActions[0].StartWorkflowResult.WorkflowID
		return true
	}, waitTimeout, pollInterval, "it is begun at once")
	return id
}
