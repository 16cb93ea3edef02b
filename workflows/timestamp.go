package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Timestamp adds the time-stamps that an envelope's files were sealed without. It
// asks the authority again for as long as it takes.
func Timestamp(ctx workflow.Context, in temporal.EnvelopeInput) error {
	workflow.SetCurrentDetails(ctx, "Waiting for the time-stamp authority: the documents were sealed without a time-stamp.")
	opts := activityOptions("Add the time-stamps", time.Hour)
	opts.TaskQueue, opts.RetryPolicy = temporal.QueueSeal, retryForever(10*time.Minute)
	if err := runReportingStuck(ctx, stuckTimestamp, opts, acts.Timestamp, in); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, "The time-stamps are in the files.")
	return nil
}
