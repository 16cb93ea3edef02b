package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"

	"countersign/temporal"
)

func (w *scenario) temporalClient() sdkclient.Client {
	w.t.Helper()
	c, err := sdkclient.Dial(sdkclient.Options{HostPort: w.temporal, Namespace: w.namespace})
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// trigger runs a schedule immediately.
func (w *scenario) trigger(c sdkclient.Client, schedule string) {
	w.t.Helper()
	noError(w.t, c.ScheduleClient().GetHandle(w.t.Context(), schedule).Trigger(w.t.Context(), sdkclient.ScheduleTriggerOptions{}))
}

// running returns the number of running workflows of a type.
func (w *scenario) running(c sdkclient.Client, workflow string) int {
	w.t.Helper()
	counted, err := c.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: w.namespace, Query: `ExecutionStatus = "Running" AND WorkflowType = "` + workflow + `"`,
	})
	require.NoError(w.t, err)
	return int(counted.GetCount())
}

// TestRetentionNeedsNoWorkflow checks that a completed envelope has no running workflow, so that Temporal may lose all
// of its data before the retention ends. The cleanup still purges the files when they are due.
func TestRetentionNeedsNoWorkflow(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.retain(10 * time.Second)
		w.api()
		w.worker()
		w.login()
		w.run("tenant", "set", "--app", w.appID.String(), "--tenant", "acme", "--retention", "30")
		require.NoError(t, w.sendAndComplete(2))
		e := w.envelopes[0]
		eventually(t, func() bool { return len(w.sealedFiles(e)) > 0 }, "the documents were not sealed")
		c := w.temporalClient()
		eventually(t, func() bool { return w.running(c, temporal.WorkflowEnvelope) == 0 }, "the envelope's workflow did not end after completion")
		eventually(t, func() bool { // the running workflow belongs to a schedule
			counted, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
				Namespace: w.namespace, Query: `ExecutionStatus = "Running" AND WorkflowType NOT IN ("Cleanup", "Reconcile", "temporal-sys-scheduler-workflow", "Delivery")`,
			})
			return err == nil && counted.GetCount() == 0
		}, "a workflow is still running during the retention")
		w.scheduled(c, temporal.ScheduleCleanup, "the files were not removed", func() bool { return len(w.sealedFiles(e)) == 0 })
		eventually(t, func() bool { return w.count(`SELECT count(*) FROM envelopes WHERE retention_due_at IS NOT NULL`) == 0 }, "the end of the retention was not recorded")
	})
}
