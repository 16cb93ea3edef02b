package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Timestamp adds the missing time-stamps to the sealed files of an envelope. It retries the request to the authority
// until it succeeds.
func Timestamp(ctx workflow.Context, in temporal.EnvelopeInput) error {
	workflow.SetCurrentDetails(ctx, "Waiting for the time-stamp authority: the documents were sealed without a time-stamp.")
	opts := activityOptions("Add the time-stamps", time.Hour)
	opts.TaskQueue, opts.RetryPolicy = temporal.QueueSeal, retryForever(10*time.Minute)
	if err := new(stuckTracker).run(ctx, task{stuck: stuckTimestamp, activity: acts.Timestamp, in: in, options: opts}, nil); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, "The time-stamps were added to the files.")
	return nil
}

// Anchor requests a time-stamp for the heads of all audit chains with events since the last anchor. It retries the
// request to the authority until it succeeds.
func Anchor(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, "Time-stamping the heads of the audit chains. If this text does not change, see the last failure of the pending activity.")
	opts := activityOptions("Anchor the audit trail", 12*time.Hour)
	opts.RetryPolicy = retryForever(10 * time.Minute)
	var done activities.AnchorResult
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), acts.AnchorAudit).Get(ctx, &done); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Anchor %d contains %d audit chains.", done.Number, done.Entries))
	return nil
}
