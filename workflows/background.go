package workflows

import (
	"errors"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// backgroundTasks is the state of the tasks that run while the workflow waits for the signers. No task delays the
// handling of a signal, so an envelope can be voided even if a mail server or the database is down.
type backgroundTasks struct {
	ctx     workflow.Context // canceled when the wait ends
	cancel  workflow.CancelFunc
	running int

	expiring, renewing, reminding bool
	behind                        int // number of consecutive times that the database's clock was found to be behind
	reads                         int // number of times that the schedule was reloaded
}

// startBackground runs a task while the workflow waits for the signers. It then calls done with the task's error,
// unless the task was canceled because the wait ended.
func (w *envelope) startBackground(ctx workflow.Context, t task, result any, done func(workflow.Context, error)) {
	w.background.running++
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := w.stuck.run(ctx, t, result)
		w.background.running--
		if sdktemporal.IsCanceledError(err) {
			return
		}
		if err != nil {
			workflow.GetLogger(ctx).Warn("task failed", "task", t.stuck, "error", err)
		}
		done(ctx, err)
		w.changed = true
	})
}

// inviteAwaited invites the awaited signers who have not been invited yet. It also notifies copy recipients when their
// routing group is reached.
func (w *envelope) inviteAwaited(ctx workflow.Context) {
	first := len(w.invited) == 0
	ids := w.notInvited(w.plan.Signers.Awaited())
	if len(ids) > 0 && !first {
		w.scheduleLaterSigners(ctx)
	}
	w.group = w.plan.Signers.OpenGroup()
	ids = append(ids, w.notInvited(w.plan.Copies.Reached(w.plan.Signers.OpenGroup()))...)
	if len(ids) == 0 {
		return
	}
	w.startBackground(temporal.WithTrace(w.background.ctx, w.trace), task{
		stuck: stuckInvitation, activity: acts.Invite, options: mailOptions(""), // no summary, because the activity type is sufficient
		in: activities.InviteInput{EnvelopeInput: w.EnvelopeInput, SignerIDs: ids},
	}, nil, func(_ workflow.Context, err error) { w.rejection = rejection(err) })
}

// rejection returns the error message of an invitation whose addresses were permanently rejected, or "" for any other
// error.
func rejection(err error) string {
	if app, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok && app.Type() == activities.ErrTypeRejected {
		return app.Message()
	}
	return ""
}

func (w *envelope) notInvited(ids []uuid.UUID) (missing []uuid.UUID) {
	for _, id := range ids {
		if !w.invited[id] {
			w.invited[id] = true
			missing = append(missing, id)
		}
	}
	return missing
}

// scheduleLaterSigners schedules reminders and link renewals for signers who are invited after the first ones. The
// first reminder of a new group is due one interval after the group opens. If the earlier signers received their links
// from the sender, no times have been scheduled yet. When a scheduled time is reached, the database determines what is
// actually due.
func (w *envelope) scheduleLaterSigners(ctx workflow.Context) {
	now := workflow.Now(ctx)
	if w.plan.Signers.OpenGroup() != w.group {
		w.plan.Since, w.plan.RemindAt = now, nil
	}
	if w.plan.RemindAt == nil {
		w.plan.RemindAt = w.afterInterval(ctx)
	}
	linkEnd := now.Add(models.LinkLifetime)
	if w.plan.RenewAt == nil && (w.plan.Deadline == nil || w.plan.Deadline.After(linkEnd)) {
		w.plan.RenewAt = new(linkEnd.Add(-models.RenewBefore))
	}
}

// afterInterval returns the current time plus the reminder interval, or nil if there are no reminders.
func (w *envelope) afterInterval(ctx workflow.Context) *time.Time {
	if w.plan.ReminderEvery <= 0 {
		return nil
	}
	return new(workflow.Now(ctx).Add(w.plan.ReminderEvery))
}

// reschedule reloads the deadline and the reminder and renewal times after the deadline or the reminders have changed.
func (w *envelope) reschedule(ctx workflow.Context) error {
	if !w.reload {
		return nil
	}
	w.reload = false
	plan, err := w.readPlan(ctx)
	if err != nil {
		return err
	}
	w.plan.Deadline, w.plan.RenewAt, w.plan.ReminderEvery, w.plan.RemindAt = plan.Deadline, plan.RenewAt, plan.ReminderEvery, plan.RemindAt
	w.background.behind, w.background.reads = 0, w.background.reads+1
	w.timer.stop()
	w.timer = nil
	return nil
}

// startDueTask starts the most important task that is due. An envelope past its deadline is only closed. Links are
// renewed before a reminder is sent, so that the reminder contains the new link.
func (w *envelope) startDueTask(ctx workflow.Context) {
	if !w.timer.fired() {
		return
	}
	w.timer = nil
	now := workflow.Now(ctx)
	for _, t := range w.times() {
		if t.at != nil && !now.Before(*t.at) {
			t.start(ctx)
			return
		}
	}
}

// expire starts the activity that closes the envelope at its deadline. If the last signer has just signed, the activity
// does not close the envelope, and the workflow continues when it receives the signal for the signature.
func (w *envelope) expire(workflow.Context) {
	w.background.expiring = true
	var status models.Status
	w.startBackground(temporal.WithoutTrace(w.background.ctx), task{
		stuck: stuckExpiry, activity: acts.Expire, in: w.EnvelopeInput, options: activityOptions("Close at the deadline", time.Minute),
	}, &status, func(_ workflow.Context, err error) {
		w.background.expiring = false
		switch {
		case err != nil || status == models.StatusSealing || status == models.StatusCompleted:
			w.plan.Deadline = nil
		case status.Terminal():
			w.close(status)
		default:
			w.background.behind++
		}
	})
}

// renewLinks replaces the links that expire soon, and schedules the next renewal.
func (w *envelope) renewLinks(workflow.Context) {
	w.background.renewing, w.plan.RenewAt = true, nil
	var next *time.Time
	w.startBackground(temporal.WithoutTrace(w.background.ctx), task{
		stuck: stuckRenewal, activity: acts.RenewLinks, in: w.EnvelopeInput, options: activityOptions("Renew links that expire soon", time.Minute),
	}, &next, func(ctx workflow.Context, err error) {
		w.background.renewing = false
		if err == nil {
			w.plan.RenewAt = w.compareClocks(ctx, next)
		}
	})
}

// remind reminds the awaited signers, and schedules the next reminder. It starts no other reminder activity while one
// is still running.
func (w *envelope) remind(ctx workflow.Context) {
	w.background.reminding, w.plan.RemindAt = true, w.afterInterval(ctx)
	reads := w.background.reads
	var next *time.Time
	w.startBackground(temporal.WithoutTrace(w.background.ctx), task{
		stuck: stuckReminder, activity: acts.Remind, in: w.EnvelopeInput, options: mailOptions("Remind the awaited signers"),
	}, &next, func(ctx workflow.Context, err error) {
		w.background.reminding = false
		if err == nil {
			w.plan.RemindAt = w.compareClocks(ctx, next)
			w.reload = w.reload || reads != w.background.reads // the result may be based on the previous interval
		}
	})
}

// compareClocks compares the next due time, which the database determined, with the workflow's clock, and returns it
// unchanged. If that time has already passed, the database's clock is behind, and the next timer waits longer.
func (w *envelope) compareClocks(ctx workflow.Context, next *time.Time) *time.Time {
	if next != nil && !next.After(workflow.Now(ctx)) {
		w.background.behind++
	} else {
		w.background.behind = 0
	}
	return next
}
