package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"
)

// probeSender is an app that sends single envelopes.
type probeSender struct {
	name     string
	client   *client
	template string
}

// probeStages are the stages from a single send to its invitation, according to the history of the envelope's
// workflow.
var probeStages = [3]string{"request, and wait in the outbox", "wait for a workflow worker", "workflow task with the invitation"}

// probeTimes contains the time from the request to the arrival of the email, and the durations of its stages.
type probeTimes struct {
	total  time.Duration
	stages [len(probeStages)]time.Duration
}

// probes sends n envelopes from each sender at a constant rate, regardless of the time that each send takes, and stops
// early if goesOn returns false. It returns the times for each sender.
func (w *benchEnv) probes(ctx context.Context, label string, n int, senders []probeSender, goesOn func(context.Context) (bool, error)) ([][]probeTimes, error) {
	c, err := w.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
		times  = make([][]probeTimes, len(senders))
	)
	for i := range n {
		on, err := goesOn(ctx)
		if err != nil || !on {
			failed = errors.Join(failed, err)
			break
		}
		for s, sender := range senders {
			wg.Go(func() {
				address := fmt.Sprintf("probe-%s-%d-%d@example.com", label, s, i)
				took, err := w.probe(ctx, c, sender, address)
				mu.Lock()
				defer mu.Unlock()
				times[s], failed = append(times[s], took), errors.Join(failed, err)
			})
		}
		if err := pause(ctx, probeInterval); err != nil {
			break
		}
	}
	wg.Wait()
	return times, errors.Join(failed, ctx.Err())
}

// probe sends an envelope to one signer and waits for the email.
func (w *benchEnv) probe(ctx context.Context, c sdkclient.Client, s probeSender, address string) (out probeTimes, err error) {
	came := w.mails.expect(address)
	signers, _ := benchRoles(1, false)
	signers[0]["email"] = address
	e := &envelope{}
	start := now()
	err = s.client.post(ctx, "/v1/envelopes", anyMap{
		"tenantId": "bench", "templateId": s.template, "send": true, "variables": anyMap{"name": "Ada"}, "signers": signers,
	}, e)
	if err != nil {
		return out, err
	}
	var mailed time.Time
	select {
	case <-ctx.Done():
		return out, fmt.Errorf("the invitation of envelope %s did not arrive: %w", e.ID, context.Cause(ctx))
	case mailed = <-came:
	}
	out.total = mailed.Sub(start)
	out.stages, err = readStages(ctx, c, e.ID.String(), start, mailed)
	return out, err
}

// readStages waits until the workflow's history contains the invitation, and returns the durations of the stages. If
// mailed is zero, the end of the workflow task that sends the invitation is used as the time of the email.
func readStages(ctx context.Context, c sdkclient.Client, id string, start, mailed time.Time) (stages [len(probeStages)]time.Duration, err error) {
	for {
		var started, taken, ended time.Time
		// see temporal.EnvelopeWorkflowID
		it := c.GetWorkflowHistory(ctx, "envelope/"+id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			ev, err := it.Next()
			if err != nil {
				return stages, err
			}
			when := ev.EventTime.AsTime()
			switch ev.EventType {
			case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
				started = when
			case enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
				if taken.IsZero() {
					taken = when
				}
			case enums.EVENT_TYPE_MARKER_RECORDED: // marks the local activity that sends the invitation
				if ended.IsZero() {
					ended = when
				}
			}
		}
		if !ended.IsZero() {
			if !mailed.IsZero() {
				ended = mailed
			}
			return [...]time.Duration{started.Sub(start), taken.Sub(started), ended.Sub(taken)}, nil
		}
		if err := pause(ctx, bulkLook); err != nil {
			return stages, err
		}
	}
}
