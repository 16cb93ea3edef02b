package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/workflows"
)

// fakeBulk simulates the database of a bulk send, with batches of up to 10 rows.
type fakeBulk struct {
	status models.BulkStatus
	counts models.BulkCounts
	wait   time.Duration
	fails  int
	then   func() // called at the end of the next batch, or nil

	begun []time.Time // start of each attempt at a batch

	mu       sync.Mutex
	commands []models.BulkAction
}

// set changes the status in the same way as the API.
func (f *fakeBulk) set(status models.BulkStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
}

func (f *fakeBulk) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts.Sent
}

func (f *fakeBulk) start(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := newEnvironment(quiet(t))
	env.RegisterActivity(acts)
	env.OnActivity(acts.SendBulkRows, mock.Anything, mock.Anything).Return(func(context.Context, temporal.BulkInput) (activities.BulkStep, error) {
		step, err := f.send()
		if then := f.then; then != nil && err == nil {
			f.then = nil
			then()
		}
		return step, err
	})
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "SendBulkRows" {
			f.begun = append(f.begun, env.Now())
		}
	})
	env.OnActivity(acts.ChangeBulk, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.ChangeBulkInput) error {
		return f.change(in)
	}).Maybe()
	return env
}

// send implements the activity SendBulkRows.
func (f *fakeBulk) send() (activities.BulkStep, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails > 0 {
		f.fails--
		return activities.BulkStep{}, errors.New("the database is down")
	}
	if f.status == models.BulkQueued {
		f.status = models.BulkRunning
	}
	if f.status != models.BulkRunning {
		return activities.BulkStep{Status: f.status, Counts: f.counts}, nil
	}
	n := min(10, f.counts.Pending)
	f.counts.Pending, f.counts.Sent = f.counts.Pending-n, f.counts.Sent+n
	if f.counts.Pending == 0 {
		f.status = models.BulkCompleted
	}
	return activities.BulkStep{Status: f.status, Counts: f.counts, Wait: f.wait}, nil
}

// change implements the activity ChangeBulk.
func (f *fakeBulk) change(in activities.ChangeBulkInput) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, in.Action)
	if to, err := f.status.Next(in.Action); err == nil {
		f.status = to
	}
	return nil
}

func run(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env.ExecuteWorkflow(workflows.BulkSend, temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
}

// TestBulkSend_RunsUntilNoRowIsPending checks that all batches are sent at the requested rate, despite failures.
func TestBulkSend_RunsUntilNoRowIsPending(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkQueued, counts: models.BulkCounts{Pending: 25}, wait: 20 * time.Second, fails: 13}
	env := f.start(t)
	shown := upserts(env)
	run(t, env)
	require.Equal(t, models.BulkCounts{Sent: 25}, f.counts)
	require.Len(t, f.begun, 13+3)
	require.Equal(t, []string{"stuck in bulk", "not stuck"}, *shown)
	require.Equal(t, 20*time.Second, f.begun[15].Sub(f.begun[14]))
}

// TestBulkSend_ContinuesAfterStaleState checks that the workflow continues if the bulk send is resumed after the
// workflow has read that it is paused.
func TestBulkSend_ContinuesAfterStaleState(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkPaused, counts: models.BulkCounts{Pending: 25}, wait: 20 * time.Second}
	env := f.start(t)
	shown := upserts(env)
	env.RegisterDelayedCallback(func() {
		f.set(models.BulkRunning)
		f.mu.Lock()
		f.fails = 12
		f.mu.Unlock()
		env.SignalWorkflow(temporal.SignalChanged, nil)
	}, time.Hour)
	run(t, env)
	require.Equal(t, models.BulkCounts{Sent: 25}, f.counts)
	require.Equal(t, []string{"stuck in bulk", "not stuck"}, *shown)
}

// TestBulkSend_ContinuesAfterRetry checks that the workflow continues if failed rows are retried while the last batch
// ends.
func TestBulkSend_ContinuesAfterRetry(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 5}}
	env := f.start(t)
	f.then = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.status, f.counts.Pending, f.fails = models.BulkRunning, 20, 12
		env.SignalWorkflow(temporal.SignalChanged, nil)
	}
	run(t, env)
	require.Equal(t, models.BulkCounts{Sent: 25}, f.counts)
}

// TestBulkSend_ContinuesAfterRetryAtTheEnd checks that the workflow continues if the signal for a retry arrives
// together with the result of the last batch.
func TestBulkSend_ContinuesAfterRetryAtTheEnd(t *testing.T) {
	t.Parallel()
	opts := kit.Temporal(t)
	opts.Logger = quiet(t)
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 5}}
	began, end := make(chan struct{}), make(chan struct{})
	f.then = func() { close(began); <-end }

	workflowWorker := func() sdkworker.Worker {
		w := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{LocalActivityWorkerOnly: true})
		w.RegisterWorkflowWithOptions(workflows.BulkSend, workflow.RegisterOptions{Name: temporal.WorkflowBulk})
		require.NoError(t, w.Start())
		return w
	}
	rows := sdkworker.New(c, temporal.QueueBulk, sdkworker.Options{DisableWorkflowWorker: true})
	rows.RegisterActivityWithOptions(func(context.Context, temporal.BulkInput) (activities.BulkStep, error) {
		step, err := f.send()
		if then := f.then; then != nil {
			f.then = nil
			then()
		}
		return step, err
	}, activity.RegisterOptions{Name: "SendBulkRows"})
	require.NoError(t, rows.Start())
	t.Cleanup(rows.Stop)
	first := workflowWorker()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "bulk", TaskQueue: temporal.QueueMain}, temporal.WorkflowBulk, temporal.BulkInput{})
	require.NoError(t, err)
	<-began
	first.Stop()
	close(end)
	require.Eventually(t, func() bool {
		for _, e := range history(t, c, "bulk").Events {
			if e.EventType == enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	f.mu.Lock()
	f.status, f.counts.Pending = models.BulkRunning, 20
	f.mu.Unlock()
	require.NoError(t, c.SignalWorkflow(t.Context(), "bulk", "", temporal.SignalChanged, nil))
	t.Cleanup(workflowWorker().Stop)
	require.NoError(t, run.Get(t.Context(), nil))
	require.Equal(t, models.BulkCounts{Sent: 25}, f.counts)
}

// TestBulkSend_AppliesOperatorSignals checks that operators' signals are applied to the database between two batches.
func TestBulkSend_AppliesOperatorSignals(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 45}, wait: time.Minute}
	env := f.start(t)
	at := func(d time.Duration, signal string, want int) {
		env.RegisterDelayedCallback(func() {
			require.Equal(t, want, f.sent(), "before %s", signal)
			got, err := env.QueryWorkflow(temporal.QueryProgress)
			require.NoError(t, err)
			var asked temporal.BulkProgress
			require.NoError(t, got.Get(&asked))
			require.Equal(t, want, asked.Counts.Sent)
			env.SignalWorkflow(signal, nil)
		}, d)
	}
	at(30*time.Second, temporal.SignalPause, 10)
	at(time.Hour, temporal.SignalChanged, 10) // no row was changed
	at(2*time.Hour, temporal.SignalResume, 10)
	at(2*time.Hour+90*time.Second, temporal.SignalCancel, 30)
	run(t, env)
	require.Equal(t, []models.BulkAction{models.BulkPause, models.BulkResume, models.BulkCancel}, f.commands)
	require.Equal(t, models.BulkCanceled, f.status)
}

// TestBulkSend_ReadsChangesOfTheAPI checks that a change made through the API takes effect immediately.
func TestBulkSend_ReadsChangesOfTheAPI(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 45}, wait: time.Minute}
	env := f.start(t)
	env.RegisterDelayedCallback(func() {
		f.set(models.BulkPaused)
		env.SignalWorkflow(temporal.SignalChanged, nil)
	}, 70*time.Second)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 20, f.sent())
		f.set(models.BulkRunning)
		env.SignalWorkflow(temporal.SignalChanged, nil)
	}, 10*time.Hour)
	run(t, env)
	require.Empty(t, f.commands)
	require.Equal(t, models.BulkCounts{Sent: 45}, f.counts)
}

// TestBulkSend_AppliesSignalsInOrder checks that signals received during a batch are applied in order of arrival.
func TestBulkSend_AppliesSignalsInOrder(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 25}, fails: 3} // so that the signals arrive during the first batch
	env := f.start(t)
	for i, signal := range []string{temporal.SignalPause, temporal.SignalResume, temporal.SignalPause, temporal.SignalResume, temporal.SignalCancel} {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(signal, nil) }, time.Duration(i+1)*500*time.Millisecond)
	}
	run(t, env)
	require.Equal(t, []models.BulkAction{models.BulkPause, models.BulkResume, models.BulkPause, models.BulkResume, models.BulkCancel}, f.commands)
	require.Equal(t, models.BulkCounts{Sent: 10, Pending: 15}, f.counts)
}

// TestBulkSend_ContinuesAsNew checks that the workflow applies all signals before it continues as new.
func TestBulkSend_ContinuesAsNew(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkRunning, counts: models.BulkCounts{Pending: 25}, wait: time.Minute}
	env := f.start(t)
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow(temporal.SignalPause, nil)
	}, 30*time.Second)
	in := temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()}
	env.ExecuteWorkflow(workflows.BulkSend, in)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, []models.BulkAction{models.BulkPause}, f.commands)
	require.Equal(t, 10, f.counts.Sent)
}

// TestBulkSend_PausedCanBeCanceled checks that cancellation in Temporal ends a paused bulk send.
func TestBulkSend_PausedCanBeCanceled(t *testing.T) {
	t.Parallel()
	f := &fakeBulk{status: models.BulkPaused, counts: models.BulkCounts{Pending: 25}}
	env := f.start(t)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(workflows.BulkSend, temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()})
	require.True(t, env.IsWorkflowCompleted())
	require.True(t, sdktemporal.IsCanceledError(env.GetWorkflowError()))
}
