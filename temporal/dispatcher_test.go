package temporal_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

type fakeOutbox struct {
	mu    sync.Mutex
	rows  []models.OutboxRow
	waits []time.Duration
	stuck bool // rows cannot be removed, so each row is delivered repeatedly
	wake  chan struct{}

	claimed map[int64]bool // rows claimed in the current run of the dispatcher
	empty   func()         // called when every row has been claimed
}

func (b *fakeOutbox) Wake() <-chan struct{} { return b.wake }

// dispatch runs the dispatcher until it has removed every row, or has tried to deliver each existing row once.
func (b *fakeOutbox) dispatch(t *testing.T, d *temporal.Dispatcher) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b.mu.Lock()
	b.claimed, b.empty = map[int64]bool{}, cancel
	b.mu.Unlock()
	d.Run(ctx)
}

func (b *fakeOutbox) ClaimOutbox(_ context.Context, n int, _ time.Duration) ([]models.OutboxRow, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[uuid.UUID]bool{}
	var out []models.OutboxRow
	for _, r := range b.rows {
		if len(out) < n && !seen[r.Key] && !b.claimed[r.Seq] {
			b.claimed[r.Seq] = true
			out = append(out, r)
		}
		seen[r.Key] = true
	}
	if !slices.ContainsFunc(b.rows, func(r models.OutboxRow) bool { return !b.claimed[r.Seq] }) && b.empty != nil {
		b.empty()
	}
	return out, nil
}

func (b *fakeOutbox) FinishOutbox(_ context.Context, seq int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck {
		return errors.New("database is down")
	}
	b.rows = slices.DeleteFunc(b.rows, func(r models.OutboxRow) bool { return r.Seq == seq })
	return nil
}

func (b *fakeOutbox) RetryOutbox(_ context.Context, _ int64, wait time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = append(b.waits, wait)
	return nil
}

// listener simulates the envelope workflow. It ends when it receives the signal "voided".
func listener(ctx workflow.Context, _ temporal.EnvelopeInput) error {
	workflow.GetSignalChannel(ctx, temporal.SignalVoided).Receive(ctx, nil)
	return nil
}

type fixture struct {
	*temporal.Dispatcher

	outbox *fakeOutbox
	c      client.Client
	key    uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	opts := kit.Temporal(t)
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(listener, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	b := &fakeOutbox{wake: make(chan struct{})}
	return &fixture{
		outbox: b, c: c, key: uuid.New(),
		Dispatcher: &temporal.Dispatcher{Outbox: b, Client: c, Namespace: opts.Namespace, Log: slog.New(slog.DiscardHandler)},
	}
}

func (f *fixture) enqueue(t *testing.T, kinds ...models.OutboxKind) {
	t.Helper()
	signer := uuid.New()
	for _, k := range kinds {
		f.outbox.rows = append(f.outbox.rows, models.OutboxRow{
			Seq: int64(len(f.outbox.rows) + 1), ID: uuid.New(), Key: f.key, Kind: k,
			Refs: models.OutboxRefs{AppID: uuid.New(), TenantID: "t", SignerID: &signer},
		})
	}
}

func (f *fixture) dispatch(t *testing.T) {
	t.Helper()
	f.outbox.dispatch(t, f.Dispatcher)
}

// signals counts the signals in the history of the latest run.
func (f *fixture) signals(t *testing.T) (n int) {
	t.Helper()
	it := f.c.GetWorkflowHistory(t.Context(), temporal.EnvelopeWorkflowID(f.key), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		ev, err := it.Next()
		require.NoError(t, err)
		if ev.EventType == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			n++
		}
	}
	return n
}

func (f *fixture) runs(t *testing.T) string {
	t.Helper()
	d, err := f.c.DescribeWorkflowExecution(t.Context(), temporal.EnvelopeWorkflowID(f.key), "")
	require.NoError(t, err)
	return d.WorkflowExecutionInfo.Execution.RunId
}

func TestDispatch_RepeatHasOneEffect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.enqueue(t, models.OutboxStart)
	f.outbox.stuck = true
	for range 4 {
		f.dispatch(t)
	}
	first := f.runs(t)
	f.outbox.rows = nil
	f.enqueue(t, models.OutboxSigned)
	for range 4 {
		f.dispatch(t)
	}
	assert.Equal(t, 1, f.signals(t), "the server ignores repeated deliveries of a row")
	assert.Equal(t, first, f.runs(t))
}

func TestDispatch_InOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.enqueue(t, models.OutboxStart, models.OutboxSigned, models.OutboxVoided)
	for range 3 {
		f.dispatch(t)
	}
	require.NoError(t, f.c.GetWorkflow(t.Context(), temporal.EnvelopeWorkflowID(f.key), "").Get(t.Context(), nil))
	assert.Equal(t, 2, f.signals(t))
	assert.Empty(t, f.outbox.rows)
	run := f.runs(t)
	f.enqueue(t, models.OutboxSigned, models.OutboxStart)
	f.dispatch(t)
	f.dispatch(t)
	assert.Empty(t, f.outbox.rows, "a closed workflow ignores the signal")
	assert.Equal(t, run, f.runs(t), "a closed workflow is not restarted")
}

func TestDispatch_RestartsLostWorkflow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.enqueue(t, models.OutboxStart)
	f.dispatch(t)
	first := f.runs(t)
	require.NoError(t, f.c.TerminateWorkflow(t.Context(), temporal.EnvelopeWorkflowID(f.key), "", "a test"))
	f.enqueue(t, models.OutboxSigned)
	f.dispatch(t)
	assert.NotEqual(t, first, f.runs(t))
	assert.Equal(t, 1, f.signals(t))
	assert.Empty(t, f.outbox.rows)
}

func TestDispatch_TemporalIsDown(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: quietLogger{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b := &fakeOutbox{wake: make(chan struct{})}
	d := &temporal.Dispatcher{Outbox: b, Client: c, Namespace: "default", Log: slog.New(slog.DiscardHandler)}
	b.rows = []models.OutboxRow{{Seq: 1, ID: uuid.New(), Key: uuid.New(), Kind: models.OutboxStart, Attempts: 3}}
	b.dispatch(t, d)
	assert.Len(t, b.rows, 1, "kept")
	assert.Equal(t, []time.Duration{8 * time.Second}, b.waits)
}

// TestDispatch_StartsEnvelopeWithItsPlan checks that an envelope's workflow starts with its plan, or without one if the
// plan cannot be read.
func TestDispatch_StartsEnvelopeWithItsPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan   temporal.Plan
		err    error
		status string
	}{
		"open":       {plan: temporal.Plan{Status: models.StatusInProgress}, status: "open"},
		"sealing":    {plan: temporal.Plan{Status: models.StatusSealing}, status: "sealing"},
		"unreadable": {err: errors.New("the database is down"), status: "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Plan = func(_ context.Context, in temporal.EnvelopeInput) (temporal.Plan, error) {
				assert.Equal(t, f.key, in.EnvelopeID)
				return c.plan, c.err
			}
			f.enqueue(t, models.OutboxSigned) // the workflow is missing, so it is started with the signal
			f.dispatch(t)
			assert.Empty(t, f.outbox.rows)
			it := f.c.GetWorkflowHistory(t.Context(), temporal.EnvelopeWorkflowID(f.key), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			require.True(t, it.HasNext())
			ev, err := it.Next()
			require.NoError(t, err)
			started := ev.GetWorkflowExecutionStartedEventAttributes()
			var in temporal.EnvelopeStart
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(started.Input, &in))
			assert.Equal(t, f.key, in.EnvelopeID)
			if c.err != nil {
				assert.Nil(t, in.Plan)
			} else {
				assert.Equal(t, c.plan, *in.Plan)
			}
			var status string
			require.NoError(t, converter.GetDefaultDataConverter().FromPayload(started.SearchAttributes.IndexedFields["EnvelopeStatus"], &status))
			assert.Equal(t, c.status, status)
		})
	}
}

// quietLogger is a logger that discards the SDK's log messages.
type quietLogger struct{}

func (quietLogger) Debug(string, ...any) {}
func (quietLogger) Info(string, ...any)  {}
func (quietLogger) Warn(string, ...any)  {}
func (quietLogger) Error(string, ...any) {}

// TestRun_OneKeyStalls_DelaysNoOther checks that a hanging call occupies only one slot and does not delay the rows of
// other keys.
func TestRun_OneKeyStalls_DelaysNoOther(t *testing.T) {
	t.Parallel()
	const others = 60 // more than the number of slots
	f := newFixture(t)
	release, stalled := make(chan struct{}), make(chan struct{})
	f.Plan = func(_ context.Context, in temporal.EnvelopeInput) (temporal.Plan, error) {
		if in.EnvelopeID == f.key {
			close(stalled)
			<-release
		}
		return temporal.Plan{Status: models.StatusSent}, nil
	}
	f.enqueue(t, models.OutboxStart)
	f.outbox.claimed = map[int64]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	<-stalled
	f.outbox.mu.Lock()
	for range others {
		f.outbox.rows = append(f.outbox.rows, models.OutboxRow{
			Seq: int64(len(f.outbox.rows) + 1), ID: uuid.New(), Key: uuid.New(), Kind: models.OutboxStart, Refs: models.OutboxRefs{AppID: uuid.New(), TenantID: "t"},
		})
	}
	f.outbox.mu.Unlock()
	assert.Eventually(t, func() bool {
		f.outbox.mu.Lock()
		defer f.outbox.mu.Unlock()
		return len(f.outbox.rows) == 1
	}, time.Minute, 10*time.Millisecond, "all but the row that hangs are delivered")
	close(release)
	require.Eventually(t, func() bool {
		f.outbox.mu.Lock()
		defer f.outbox.mu.Unlock()
		return len(f.outbox.rows) == 0
	}, time.Minute, 10*time.Millisecond)
	cancel()
	<-done
}
