package workflows

import (
	"math"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Timestamp adds the time-stamps that an envelope's files were sealed without. It
// asks the authority again for as long as it takes.
func Timestamp(ctx workflow.Context, in temporal.EnvelopeInput) error {
	workflow.SetCurrentDetails(ctx, "Waiting for the time-stamp authority: the documents were sealed without a time-stamp.")
	opts := workflow.ActivityOptions{
		TaskQueue: temporal.QueueSeal, StartToCloseTimeout: time.Hour, HeartbeatTimeout: activities.Silence, Summary: "Add the time-stamps",
		// Without end; the SDK's test environment takes 0 for 10 attempts.
		RetryPolicy: &sdktemporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute, MaximumAttempts: math.MaxInt32},
	}
	if err := runShown(ctx, stuckTimestamp, opts, acts.Timestamp, in); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, "The time-stamps are in the files.")
	return nil
}
