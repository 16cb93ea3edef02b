package workflows

import (
	"errors"
	"fmt"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// What a workflow can be stuck in, as the search attribute Stuck names it.
const (
	stuckInvitation = "invitation"
	stuckSealing    = "sealing"
	stuckCopies     = "copies"
	stuckClosing    = "closing"
	stuckPurge      = "purge"
	stuckTimestamp  = "timestamp"
)

// stuckAfter is how many failures of an activity make its workflow stuck: with
// the delays of patient it takes some four minutes.
const stuckAfter = 10

// runShown runs an activity until it works. When it has failed stuckAfter times
// the search attribute Stuck says so, until it works after all; it is tried all
// the time. A workflow that does well pays nothing for it.
func runShown(ctx workflow.Context, what string, opts workflow.ActivityOptions, activity, in any) error {
	return showStuck(ctx, what, opts, activity, in, runFirst(ctx, opts, activity, in))
}

// runFirst starts the tries before a workflow counts as stuck.
func runFirst(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	policy := *opts.RetryPolicy
	policy.MaximumAttempts = stuckAfter
	opts.RetryPolicy = &policy
	return run(ctx, opts, activity, in)
}

// showStuck waits for the first tries, and goes on trying where they were in vain.
func showStuck(ctx workflow.Context, what string, opts workflow.ActivityOptions, activity, in any, first workflow.Future) error {
	err := first.Get(ctx, nil)
	if err == nil || !worthRepeating(err) {
		return err
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, temporal.AttrStuck.ValueSet(what)); err != nil {
		return fmt.Errorf("show what is stuck: %w", err)
	}
	workflow.GetLogger(ctx).Warn("stuck", "in", what)
	policy := *opts.RetryPolicy
	policy.InitialInterval = policy.MaximumInterval // where the first tries have come to
	opts.RetryPolicy = &policy
	if err := run(ctx, opts, activity, in).Get(ctx, nil); err != nil {
		return err
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, temporal.AttrStuck.ValueUnset()); err != nil {
		return fmt.Errorf("show what is stuck: %w", err)
	}
	return nil
}

// worthRepeating reports whether an activity failed for a reason that may pass:
// it was neither cancelled nor refused.
func worthRepeating(err error) bool {
	if sdktemporal.IsCanceledError(err) {
		return false
	}
	var app *sdktemporal.ApplicationError
	return !errors.As(err, &app) || !app.NonRetryable()
}
