package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
	"countersign/test/kit"
)

// queryableWorkflow simulates an envelope's workflow. It answers the query until it receives a signal.
func queryableWorkflow(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, temporal.QueryProgress, func() (temporal.Progress, error) {
		return temporal.Progress{Step: temporal.StepWaiting, OpenGroup: 2}, nil
	})
	if err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, temporal.SignalVoided).Receive(ctx, nil)
	return nil
}

// TestProgress_OnlyOfRunningWorkflow checks which workflows Progress reports. It uses a real Temporal server, because a
// terminated workflow would still answer queries.
func TestProgress_OnlyOfRunningWorkflow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	opts := kit.Temporal(t)
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	w.RegisterWorkflow(queryableWorkflow)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	workflows, envelope := temporal.Workflows{Client: c}, uuid.New()

	_, err = workflows.Progress(ctx, envelope)
	require.ErrorIs(t, err, temporal.ErrNoWorkflow)
	begin := func() client.WorkflowRun {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: temporal.EnvelopeWorkflowID(envelope), TaskQueue: temporal.QueueMain}, queryableWorkflow)
		require.NoError(t, err)
		return run
	}
	answers := func(when string) {
		p, err := workflows.Progress(ctx, envelope)
		require.NoError(t, err, when)
		assert.Equal(t, 2, p.OpenGroup, when)
	}
	run := begin()
	answers("while it runs")
	require.NoError(t, c.SignalWorkflow(ctx, run.GetID(), "", temporal.SignalVoided, nil))
	require.NoError(t, run.Get(ctx, nil))
	answers("after it has succeeded")
	run = begin()
	answers("while it runs again")
	require.NoError(t, c.TerminateWorkflow(ctx, run.GetID(), "", "an operator"))
	_, err = workflows.Progress(ctx, envelope)
	require.ErrorIs(t, err, temporal.ErrNoWorkflow)

	opts.Namespace += "-none"
	other, err := client.NewLazyClient(opts)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	_, err = temporal.Workflows{Client: other}.Progress(ctx, envelope)
	require.Error(t, err)
	require.NotErrorIs(t, err, temporal.ErrNoWorkflow, "it is unknown whether a workflow is running")
}
