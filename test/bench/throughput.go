package main

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"countersign/clients/go/api"
)

// atOnce calls do n times with limited concurrency, and returns the first error.
func atOnce(ctx context.Context, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// measureThroughput completes envelopes with two signers, from creation to sealing. It alternates with bare workflows
// of the same shape on the same server.
func (w *benchEnv) measureThroughput(ctx context.Context) error {
	var ours, bare time.Duration
	for range turns {
		start := now()
		if err := atOnce(ctx, envelopes/turns, w.complete); err != nil {
			return err
		}
		ours += now().Sub(start)
		took, err := w.bareWorkflows(ctx, envelopes/turns)
		if err != nil {
			return err
		}
		bare += took
	}
	report("envelopes completed per second          %.1f                      (2 signers, from creation to seal, %d concurrently)", envelopes/ours.Seconds(), parallel)
	report("bare workflows with the same steps      %.1f                      (%d rounds of both)", envelopes/bare.Seconds(), turns)
	report("ratio                                   %.2f                      (goal: at least %.2f)", bare.Seconds()/ours.Seconds(), throughputRatio)
	return nil
}

func (w *benchEnv) complete(ctx context.Context, _ int) error {
	e, err := w.client.send(ctx)
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := w.client.consent(ctx, e, i); err != nil {
			return err
		}
		if err := w.client.sign(ctx, e, i); err != nil {
			return err
		}
	}
	return w.await(ctx, e)
}

func (w *benchEnv) await(ctx context.Context, e *envelope) error {
	for pause := firstLook; e.Status != api.EnvelopeStatusCompleted; pause = min(pause*3/2, lastLook) {
		if err := w.get(ctx, e, pause); err != nil {
			return err
		}
	}
	return nil
}

// The polling intervals of clients that wait for completion. The cost of polling is part of the measurement.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// get reloads the envelope after a pause.
func (w *benchEnv) get(ctx context.Context, e *envelope, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pause):
	}
	newer, err := w.client.Envelope(ctx, e.ID)
	if err != nil {
		return err
	}
	newer.Signers = e.Signers // only the response to the send request contains the links
	*e = *newer
	return nil
}

const bareQueue = "bench"

// bareShape is a workflow with the shape of an envelope's workflow, but without its work. It contains a local activity,
// two invitations, a timer that is canceled, two signals, sealing, and the sending of copies.
func bareShape(ctx workflow.Context) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	if err := workflow.ExecuteLocalActivity(local, nothing).Get(ctx, nil); err != nil {
		return err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	first, second := workflow.ExecuteActivity(ctx, nothing), workflow.ExecuteActivity(ctx, nothing)
	timer, cancel := workflow.WithCancel(ctx)
	workflow.NewTimer(timer, time.Hour)
	for range 2 {
		workflow.GetSignalChannel(ctx, "signed").Receive(ctx, nil)
	}
	cancel()
	for _, f := range []workflow.Future{first, second} {
		if err := f.Get(ctx, nil); err != nil {
			return err
		}
	}
	for range 2 {
		if err := workflow.ExecuteActivity(ctx, nothing).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func nothing(context.Context) error { return nil }

func (w *benchEnv) dial() (sdkclient.Client, error) {
	return sdkclient.Dial(sdkclient.Options{HostPort: w.temporal, Logger: log.NewStructuredLogger(discard)})
}

func (w *benchEnv) bareWorkflows(ctx context.Context, n int) (time.Duration, error) {
	c, err := w.dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	worker := sdkworker.New(c, bareQueue, sdkworker.Options{})
	worker.RegisterWorkflow(bareShape)
	worker.RegisterActivity(nothing)
	if err := worker.Start(); err != nil {
		return 0, err
	}
	defer worker.Stop()
	start := now()
	err = atOnce(ctx, n, func(ctx context.Context, _ int) error {
		run, err := c.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{ID: "bare/" + uuid.NewString(), TaskQueue: bareQueue}, bareShape)
		if err != nil {
			return err
		}
		for range 2 {
			if err := c.SignalWorkflow(ctx, run.GetID(), "", "signed", nil); err != nil {
				return err
			}
		}
		return run.Get(ctx, nil)
	})
	return now().Sub(start), err
}

// measureActions counts the billable actions of one envelope's workflow: its
// start, signals, activity attempts, timers, batches of local activities and
// upserts of search attributes.
func (w *benchEnv) measureActions(ctx context.Context) error {
	e, err := w.client.send(ctx)
	if err != nil {
		return err
	}
	// In reality, signers take some time, so both invitations are sent before the first signature.
	for invited(e) < 2 {
		if err := w.get(ctx, e, firstLook); err != nil {
			return err
		}
	}
	for i := range 2 {
		if err := w.client.consent(ctx, e, i); err != nil {
			return err
		}
		if err := w.client.sign(ctx, e, i); err != nil {
			return err
		}
	}
	if err := w.await(ctx, e); err != nil {
		return err
	}
	c, err := w.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	id := "envelope/" + e.ID.String() // see temporal.EnvelopeWorkflowID
	if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return err
	}
	counts := map[enums.EventType]int{}
	actions, events, size := 0, 0, 0
	it := c.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		ev, err := it.Next()
		if err != nil {
			return err
		}
		events++
		size += proto.Size(ev)
		switch ev.EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			enums.EVENT_TYPE_TIMER_STARTED, enums.EVENT_TYPE_MARKER_RECORDED, enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			counts[ev.EventType]++
			actions++
		}
	}
	report("Temporal actions, two-signer envelope   %d (%d history events, %d bytes)    (goal: at most 8) %v", actions, events, size, counts)
	return nil
}
