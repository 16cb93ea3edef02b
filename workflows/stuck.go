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
	stuckBulk       = "bulk"
)

// stuckAfterAttempts is how many failed attempts at an activity make its workflow stuck:
// with the delays of retryForever they take some four minutes.
const stuckAfterAttempts = 10

// runReportingStuck runs an activity until it succeeds. After stuckAfterAttempts failed attempts the
// search attribute Stuck names it, until it succeeds after all. A workflow that does
// well has no further action for it.
func runReportingStuck(ctx workflow.Context, what string, opts workflow.ActivityOptions, activity, in any) error {
	err := executeFirst(ctx, opts, activity, in).Get(ctx, nil)
	if !retryable(err) {
		return err
	}
	return keepTrying(ctx, what, opts, activity, in)
}

// executeFirst starts an activity that ends after stuckAfterAttempts attempts.
func executeFirst(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	policy := *opts.RetryPolicy
	policy.MaximumAttempts = stuckAfterAttempts
	opts.RetryPolicy = &policy
	return execute(ctx, opts, activity, in)
}

// keepTrying runs an activity whose first attempts were in vain until it succeeds,
// and shows meanwhile what the workflow is stuck in.
func keepTrying(ctx workflow.Context, what string, opts workflow.ActivityOptions, activity, in any) error {
	if err := showStuck(ctx, what); err != nil {
		return err
	}
	if err := executeFurther(ctx, opts, activity, in).Get(ctx, nil); err != nil {
		return err
	}
	return showNotStuck(ctx)
}

// executeFurther starts an activity whose first attempts were in vain.
func executeFurther(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	policy := *opts.RetryPolicy
	policy.InitialInterval = policy.MaximumInterval // the delay that the first attempts have come to
	opts.RetryPolicy = &policy
	return execute(ctx, opts, activity, in)
}

func showStuck(ctx workflow.Context, what string) error {
	workflow.GetLogger(ctx).Warn("workflow is stuck", "in", what)
	if err := workflow.UpsertTypedSearchAttributes(ctx, temporal.AttrStuck.ValueSet(what)); err != nil {
		return fmt.Errorf("show what is stuck: %w", err)
	}
	return nil
}

func showNotStuck(ctx workflow.Context) error {
	if err := workflow.UpsertTypedSearchAttributes(ctx, temporal.AttrStuck.ValueUnset()); err != nil {
		return fmt.Errorf("show that nothing is stuck: %w", err)
	}
	return nil
}

// retryable reports whether an activity failed for a reason that may pass: it was
// neither cancelled nor refused.
func retryable(err error) bool {
	if err == nil || sdktemporal.IsCanceledError(err) {
		return false
	}
	app, ok := errors.AsType[*sdktemporal.ApplicationError](err)
	return !ok || !app.NonRetryable()
}
