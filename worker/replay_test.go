package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/worker"
	"countersign/workflows"
)

// TestReplay_NamesWorkflowsOfAnotherBuild checks that a running workflow of this build can be replayed, and that an
// incompatible workflow of another build is reported.
func TestReplay_NamesWorkflowsOfAnotherBuild(t *testing.T) {
	t.Parallel()
	opts := kit.Temporal(t)
	c, err := client.DialContext(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	other := func(ctx workflow.Context, _ temporal.EnvelopeStart) error { return workflow.Sleep(ctx, time.Hour) }
	for queue, fn := range map[string]any{temporal.QueueMain: workflows.Envelope, "other": other} {
		w := sdkworker.New(c, queue, sdkworker.Options{})
		w.RegisterWorkflowWithOptions(fn, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
	}
	invited := make(chan struct{})
	mail := sdkworker.New(c, temporal.QueueMail, sdkworker.Options{DisableWorkflowWorker: true})
	mail.RegisterActivityWithOptions(func(context.Context, activities.InviteInput) error {
		close(invited)
		return nil
	}, activity.RegisterOptions{Name: "Invite"})
	require.NoError(t, mail.Start())
	t.Cleanup(mail.Stop)
	start := temporal.EnvelopeStart{Plan: &temporal.Plan{Status: models.StatusSent, Signers: models.Routing{{ID: uuid.New(), Group: 1}}}}
	for id, queue := range map[string]string{"ours": temporal.QueueMain, "theirs": "other"} {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, temporal.WorkflowEnvelope, start)
		require.NoError(t, err)
	}
	<-invited
	require.Eventually(t, func() bool { // until both workflows are listed as running
		n, failures, err := worker.Replay(t.Context(), c, opts.Namespace, 10)
		return assert.NoError(t, err) && n == 2 && len(failures) == 1 && failures[0].WorkflowID == "theirs" && failures[0].Type == temporal.WorkflowEnvelope
	}, time.Minute, 200*time.Millisecond)
}

// TestDeploymentProblem_NoWorkflowTasks checks that workers that poll without receiving workflow tasks are detected.
func TestDeploymentProblem_NoWorkflowTasks(t *testing.T) {
	t.Parallel()
	opts := kit.Temporal(t)
	c, err := client.DialContext(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	problem := func(name string) string {
		p, advice, err := temporal.DeploymentProblem(t.Context(), c, opts.Namespace, name)
		require.NoError(t, err)
		assert.Equal(t, p == "", advice == "")
		return p
	}
	assert.Empty(t, problem(""))
	assert.Contains(t, problem("countersign"), "no current version")
	w := worker.New(c, &activities.Activities{}, worker.Deployment{Name: "countersign", BuildID: "one"}, nil)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	deployment := c.WorkerDeploymentClient().GetHandle("countersign")
	require.Eventually(t, func() bool {
		_, err := deployment.SetCurrentVersion(t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: "one"})
		return err == nil // the version is unknown until its workers have polled
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return problem("countersign") == "" }, time.Minute, 100*time.Millisecond)
	assert.Contains(t, problem(""), "COUNTERSIGN_WORKER_DEPLOYMENT is not set")
	assert.Contains(t, problem("other"), "the deployment countersign")
}
