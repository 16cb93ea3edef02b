package workflows

import (
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// finishTime is how long sealing may take, with its wait for a worker, before the search
// attribute EnvelopeStatus says that the documents are being sealed.
const finishTime = time.Minute

// seal makes the sealed documents, and has the copies sent with it where all goes well.
func (w *envelope) seal(ctx workflow.Context) error {
	if w.stuck {
		return w.keepSealing(ctx)
	}
	w.enter(ctx, stepSealing)
	opts := sealOptions("Seal and send")
	opts.ScheduleToCloseTimeout, opts.RetryPolicy = finishTime, &sdktemporal.RetryPolicy{MaximumAttempts: 1}
	var done activities.Finished
	err := execute(temporal.WithTrace(ctx, w.trace), opts, acts.Finish, w.EnvelopeInput).Get(ctx, &done)
	if err == nil {
		w.outcome, w.copied = done.Status, done.Copied
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	return w.keepSealing(ctx)
}

func sealOptions(summary string) workflow.ActivityOptions {
	opts := activityOptions(summary, time.Hour)
	opts.TaskQueue = temporal.QueueSeal
	return opts
}

// keepSealing tries for as long as it takes, unless an operator voids an envelope that
// cannot be sealed.
func (w *envelope) keepSealing(ctx workflow.Context) error {
	work, cancel := workflow.WithCancel(temporal.WithTrace(ctx, w.trace))
	defer cancel()
	sealing := execute(work, sealOptions("Seal the documents"), acts.Seal, w.EnvelopeInput)
	for !sealing.IsReady() {
		if err := w.showSealing(ctx); err != nil {
			return err
		}
		sel := w.addSignals(ctx)
		sel.AddFuture(sealing, func(workflow.Future) {})
		sel.Select(ctx)
		takeReady(ctx, sel)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.stuck && w.outcome == models.StatusVoided && !sealing.IsReady() {
			return nil
		}
	}
	// Completed, or voided by an operator, whose signal is on its way. Whatever else
	// was told came too late.
	return sealing.Get(ctx, &w.outcome)
}
