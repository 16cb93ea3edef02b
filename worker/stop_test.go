package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"countersign/activities"
	"countersign/store"
	"countersign/temporal"
	"countersign/worker"
)

// slowActivity is an activity that runs until it is canceled.
type slowActivity struct{ begun, ended chan struct{} }

func (l slowActivity) Run(ctx context.Context) (*store.Anchor, error) {
	l.begun <- struct{}{}
	<-ctx.Done()
	l.ended <- struct{}{}
	return nil, context.Cause(ctx)
}

// quickActivity is an activity that succeeds immediately.
type quickActivity struct{ runs atomic.Int32 }

func (q *quickActivity) Run(context.Context) (*store.Anchor, error) {
	q.runs.Add(1)
	return &store.Anchor{Number: 1}, nil
}

// TestStop_HandsBackRunningActivities checks that a stopped worker ends its long activities, and that another worker
// then runs them.
func TestStop_HandsBackRunningActivities(t *testing.T) {
	t.Parallel()
	c := dial(t)
	start := func(a activities.Anchorer) worker.Workers {
		ws := worker.New(c, &activities.Activities{Anchors: a, Now: time.Now, NewID: uuid.New}, worker.Deployment{}, nil)
		require.NoError(t, ws.Start())
		return ws
	}
	slow := slowActivity{begun: make(chan struct{}, 9), ended: make(chan struct{}, 9)}
	first := start(slow)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "anchor", TaskQueue: temporal.QueueMain}, temporal.WorkflowAnchor)
	require.NoError(t, err)
	receive(t, slow.begun, waitTimeout)
	first.Stop()
	select {
	case <-slow.ended:
	default:
		t.Fatal("the activity was left running")
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	d, err := c.DescribeWorkflowExecution(ctx, "anchor", "")
	require.NoError(t, err)
	require.Len(t, d.GetPendingActivities(), 1)
	assert.Equal(t, "returned to the task queue: the worker is stopping", d.GetPendingActivities()[0].GetLastFailure().GetMessage(), "the loss is reported, not detected by a timeout")
	other := &quickActivity{}
	t.Cleanup(start(other).Stop)
	require.NoError(t, run.Get(ctx, nil))
	assert.EqualValues(t, 1, other.runs.Load())
}

func receive(t *testing.T, from <-chan struct{}, timeout time.Duration) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(timeout):
		t.Fatal("the activity has not started")
	}
}

// TestStop_StopsAllQueuesTogether checks that stopping all queues takes no longer than stopping one.
func TestStop_StopsAllQueuesTogether(t *testing.T) {
	t.Parallel()
	var ws worker.Workers
	met := &barrier{all: make(chan struct{}), n: 3}
	for range 3 {
		ws = append(ws, concurrentStops{barrier: met})
	}
	done := make(chan struct{})
	go func() { defer close(done); ws.Stop() }()
	receive(t, done, time.Minute)
}

// barrier opens when all participants have arrived.
type barrier struct {
	here atomic.Int32
	n    int32
	all  chan struct{}
}

// concurrentStops is a worker whose Stop returns only after Stop was called on all other workers.
type concurrentStops struct {
	sdkworker.Worker
	*barrier
}

func (w concurrentStops) Stop() {
	if w.here.Add(1) == w.n {
		close(w.all)
	}
	<-w.all
}
