package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// timer is the single running timer of a workflow.
type timer struct {
	at     time.Time
	future workflow.Future
	cancel workflow.CancelFunc
}

func (t *timer) fired() bool { return t != nil && t.future.IsReady() }

func (t *timer) stop() {
	if t != nil {
		t.cancel()
	}
}

// plannedTime is a time in the plan and the task that is due then.
type plannedTime struct {
	at      *time.Time
	summary string
	start   func(workflow.Context)
}

// times returns the scheduled times, the most important first. It omits a task that is running, because its next time
// is not known yet.
func (w *envelope) times() (times []plannedTime) {
	if w.background.expiring {
		return nil
	}
	times = append(times, plannedTime{w.plan.Deadline, "Deadline", w.expire})
	if !w.background.renewing {
		times = append(times, plannedTime{w.plan.RenewAt, "Renewal of a link", w.renewLinks})
	}
	if !w.background.renewing && !w.background.reminding {
		times = append(times, plannedTime{w.plan.RemindAt, "Next reminder", w.remind})
	}
	return times
}

// setTimer starts the timer for the next scheduled time. It keeps a running timer that fires early enough, so that a
// signal does not incur the cost of another timer.
func (w *envelope) setTimer(ctx workflow.Context) {
	var next plannedTime
	for _, t := range w.times() {
		if t.at != nil && (next.at == nil || t.at.Before(*next.at)) {
			next = t
		}
	}
	if next.at == nil || w.timer != nil && !next.at.Before(w.timer.at) {
		return
	}
	w.timer.stop()
	// Wait for at least a second in case the database's clock is behind Temporal's, and longer if it is far behind.
	wait := max(next.at.Sub(workflow.Now(ctx)), time.Second<<min(w.background.behind, 6))
	timerCtx, cancel := workflow.WithCancel(ctx)
	w.timer = &timer{at: *next.at, cancel: cancel, future: workflow.NewTimerWithOptions(timerCtx, wait, workflow.TimerOptions{Summary: next.summary})}
}
