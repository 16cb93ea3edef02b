package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// BulkSend sends the rows of a bulk send, batch by batch, until none is pending. It has no state of its own: each
// batch reads from the database what to do next, so a workflow that was lost, or is started twice, continues where the
// rows are.
func BulkSend(ctx workflow.Context, in temporal.BulkInput) error {
	w := &bulkSend{BulkInput: in}
	err := workflow.SetQueryHandlerWithOptions(ctx, temporal.QueryProgress, w.progress, workflow.QueryHandlerOptions{
		Description: "How many rows were sent, have failed and are pending",
	})
	if err != nil {
		return fmt.Errorf("register query: %w", err)
	}
	return w.run(ctx)
}

func (w *bulkSend) run(ctx workflow.Context) error {
	for {
		if err := w.obey(ctx); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, BulkSend, w.BulkInput)
		}
		if err := w.sendBatch(ctx); err != nil {
			return err
		}
		workflow.SetCurrentDetails(ctx, w.details())
		sel := w.addSignals(ctx)
		switch {
		case w.step.Status.Ended():
			if !sel.HasPending() {
				return nil
			}
		case w.step.Status == models.BulkPaused:
			selectOrCanceled(ctx, sel)
		case w.step.Wait > 0:
			timer, cancel := workflow.WithCancel(ctx)
			sel.AddFuture(workflow.NewTimerWithOptions(timer, w.step.Wait, workflow.TimerOptions{Summary: "Before the next rows"}), func(workflow.Future) {})
			sel.Select(ctx)
			cancel()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

type bulkSend struct {
	temporal.BulkInput

	step   activities.BulkStep // how far the last batch came
	orders []models.BulkAction // of operators, not obeyed yet

	trouble trouble
}

// addSignals makes a selector that takes signals.
func (w *bulkSend) addSignals(ctx workflow.Context) workflow.Selector {
	sel := workflow.NewSelector(ctx)
	take := func(signal string, order models.BulkAction) {
		sel.AddReceive(workflow.GetSignalChannel(ctx, signal), func(ch workflow.ReceiveChannel, _ bool) {
			ch.Receive(ctx, nil)
			if order != "" {
				w.orders = append(w.orders, order)
			}
		})
	}
	take(temporal.SignalChanged, "") // the next batch reads the change
	take(temporal.SignalPause, models.BulkPause)
	take(temporal.SignalResume, models.BulkResume)
	take(temporal.SignalCancel, models.BulkCancel)
	return sel
}

// obey takes all signals, and has the database changed as operators have asked.
func (w *bulkSend) obey(ctx workflow.Context) error {
	takeReady(ctx, w.addSignals(ctx))
	for len(w.orders) > 0 {
		in := activities.ChangeBulkInput{BulkInput: w.BulkInput, Action: w.orders[0]}
		w.orders = w.orders[1:]
		if err := execute(ctx, activityOptions("Operator: "+string(in.Action), time.Minute), acts.ChangeBulk, in).Get(ctx, nil); err != nil {
			return err
		}
		takeReady(ctx, w.addSignals(ctx))
	}
	return nil
}

// sendBatch sends the next rows.
func (w *bulkSend) sendBatch(ctx workflow.Context) error {
	opts := activityOptions("Send the next rows", 10*time.Minute)
	opts.TaskQueue = temporal.QueueBulk
	var step activities.BulkStep
	if err := w.trouble.run(ctx, task{stuck: stuckBulk, activity: acts.SendBulkRows, in: w.BulkInput, options: opts}, &step); err != nil {
		return err
	}
	w.step = step
	return nil
}

func (w *bulkSend) details() string {
	c := w.step.Counts
	text := fmt.Sprintf("%s: %d sent, %d failed, %d cancelled, %d pending.", w.step.Status, c.Sent, c.Failed, c.Cancelled, c.Pending)
	if !w.step.Status.Ended() {
		text += " The signals pause, resume and cancel are obeyed between two batches."
	}
	return text
}

// progress answers the query of that name.
func (w *bulkSend) progress() (temporal.BulkProgress, error) {
	return temporal.BulkProgress{Status: w.step.Status, Counts: w.step.Counts}, nil
}

// takeReady handles the signals that have arrived.
func takeReady(ctx workflow.Context, sel workflow.Selector) {
	for sel.HasPending() {
		sel.Select(ctx)
	}
}

// selectOrCanceled is sel.Select that also returns when the workflow is canceled.
func selectOrCanceled(ctx workflow.Context, sel workflow.Selector) {
	sel.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).Select(ctx)
}
