package workflows

import (
	"errors"
	"fmt"
	"slices"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Values of the search attribute Stuck, which identifies the failing task.
const (
	stuckInvitation   = "invitation"
	stuckReminder     = "reminder"
	stuckExpiry       = "expiry"
	stuckRenewal      = "renewal"
	stuckSealing      = "sealing"
	stuckCopies       = "copies"
	stuckClosing      = "closing"
	stuckTimestamp    = "timestamp"
	stuckBulk         = "bulk"
	stuckNotification = "notification"
)

// stuckAfterAttempts is the number of failed attempts at an activity after which its workflow counts as stuck. With the
// delays of retryForever, this takes about four minutes.
const stuckAfterAttempts = 10

// task is an activity that is retried until it succeeds.
type task struct {
	stuck    string // the task's name in the search attribute Stuck
	activity any
	in       any
	options  workflow.ActivityOptions
}

// stuckTracker sets the search attribute Stuck while tasks of a workflow are failing. If no task fails, it causes no
// billable action in Temporal.
type stuckTracker struct {
	failing  []string // names of failing tasks, longest failing first
	message  string   // the latest error message, shown to operators
	reported bool     // whether Stuck is set
	changed  func()   // called when a task starts to fail or recovers; may be nil
}

// run runs a task until it succeeds or fails permanently. After stuckAfterAttempts failed attempts, the search
// attribute Stuck identifies the task until it succeeds.
func (t *stuckTracker) run(ctx workflow.Context, task task, result any) error {
	first, further := *task.options.RetryPolicy, *task.options.RetryPolicy
	first.MaximumAttempts = stuckAfterAttempts
	task.options.RetryPolicy = &first
	err := execute(ctx, task.options, task.activity, task.in).Get(ctx, result)
	if !retryable(err) {
		return err
	}
	t.message = rootMessage(err)
	if err := t.update(ctx, append(t.failing, task.stuck)); err != nil {
		return err
	}
	further.InitialInterval = further.MaximumInterval // the first attempts have already reached the maximum delay
	task.options.RetryPolicy = &further
	err = execute(ctx, task.options, task.activity, task.in).Get(ctx, result)
	if sdktemporal.IsCanceledError(err) {
		return err // the next status update clears the attribute
	}
	if i := slices.Index(t.failing, task.stuck); i >= 0 {
		err = errors.Join(err, t.update(ctx, slices.Delete(slices.Clone(t.failing), i, i+1)))
	}
	return err
}

// update records the failing tasks, and sets Stuck to the first of them.
func (t *stuckTracker) update(ctx workflow.Context, failing []string) error {
	was := t.failing
	t.failing = failing
	if t.changed != nil {
		t.changed()
	}
	var update sdktemporal.SearchAttributeUpdate
	switch {
	case len(failing) == 0:
		t.message, t.reported = "", false
		update = temporal.AttrStuck.ValueUnset()
	case len(was) > 0 && was[0] == failing[0]:
		return nil
	default:
		workflow.GetLogger(ctx).Warn("workflow is stuck", "in", failing[0])
		t.reported = true
		update = temporal.AttrStuck.ValueSet(failing[0])
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, update); err != nil {
		return fmt.Errorf("set the search attribute Stuck: %w", err)
	}
	return nil
}

// rootMessage returns the innermost message of an error, such as the response of a mail server, the database or the
// time-stamp authority.
func rootMessage(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok {
		return app.Message()
	}
	return err.Error()
}

// retryable reports whether an activity failed for a temporary reason, which means that it was neither canceled nor
// permanently rejected.
func retryable(err error) bool {
	if err == nil || sdktemporal.IsCanceledError(err) {
		return false
	}
	app, ok := errors.AsType[*sdktemporal.ApplicationError](err)
	return !ok || !app.NonRetryable()
}
