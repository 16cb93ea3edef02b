package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// due is what the time has come for.
type due int

const (
	dueNothing due = iota
	dueDeadline
	dueRenewal
	dueReminder
)

// waitForFactOrTime sleeps until a signal arrives or the time for something has
// come, and says for what.
func (w *envelope) waitForFactOrTime(ctx workflow.Context) (due, error) {
	w.setTimer(ctx)
	w.enter(ctx, stepWaiting)
	sel := w.addSignals(ctx)
	if w.timer != nil {
		sel.AddFuture(w.timer, func(workflow.Future) { w.timer = nil })
	}
	if w.reminder != nil {
		sel.AddFuture(w.reminder, func(f workflow.Future) { w.reminded(ctx, f) })
	}
	selectOrCancelled(ctx, sel)
	if ctx.Err() != nil {
		return dueNothing, ctx.Err()
	}
	takeReady(ctx, sel)
	if w.timer != nil || !w.awaitsSigners() {
		return dueNothing, nil
	}
	return w.dueAt(workflow.Now(ctx)), nil
}

// dueAt is what is due first. A link is renewed before a reminder is sent, which
// then carries the new one.
func (w *envelope) dueAt(now time.Time) due {
	passed := func(at *time.Time) bool { return at != nil && !now.Before(*at) }
	switch {
	case passed(w.plan.Deadline):
		return dueDeadline
	case passed(w.plan.RenewAt):
		return dueRenewal
	case passed(w.plan.RemindAt):
		return dueReminder
	}
	return dueNothing
}

// setTimer starts the one timer, for whatever is due first. A timer that runs is
// left alone, so that no signal costs another one, unless it would end too late.
func (w *envelope) setTimer(ctx workflow.Context) {
	var at time.Time
	summary := ""
	for _, next := range []struct {
		at      *time.Time
		summary string
	}{{w.plan.Deadline, "Deadline"}, {w.plan.RenewAt, "A link is to be renewed"}, {w.plan.RemindAt, "Next reminder"}} {
		if next.at != nil && (at.IsZero() || next.at.Before(at)) {
			at, summary = *next.at, next.summary
		}
	}
	if at.IsZero() || w.timer != nil && !at.Before(w.timerAt) {
		return
	}
	if w.timer != nil {
		w.cancelTimer()
	}
	// At least a second, should the database's clock be behind Temporal's, and more if it is far behind.
	wait := max(at.Sub(workflow.Now(ctx)), time.Second<<min(w.notYet, 6))
	var timer workflow.Context
	timer, w.cancelTimer = workflow.WithCancel(ctx)
	w.timerAt = at
	w.timer = workflow.NewTimerWithOptions(timer, wait, workflow.TimerOptions{Summary: summary})
}

// selectOrCancelled is sel.Select, which by itself sleeps on where the workflow is
// cancelled and no timer runs.
func selectOrCancelled(ctx workflow.Context, sel workflow.Selector) {
	sel.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).Select(ctx)
}
