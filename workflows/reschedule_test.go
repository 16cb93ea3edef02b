package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// TestReschedule_MovesTheDeadlineTimer checks that the timer is adjusted when the deadline is extended, shortened or
// removed, after any number of signals.
func TestReschedule_MovesTheDeadlineTimer(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		moves []time.Duration // new deadlines, one set each day, relative to the start; 0 for no deadline
		ends  time.Duration
	}{
		"later":            {moves: []time.Duration{30 * day}, ends: 30 * day},
		"earlier":          {moves: []time.Duration{3 * day}, ends: 3 * day},
		"later, earlier":   {moves: []time.Duration{30 * day, 5 * day}, ends: 5 * day},
		"away and back":    {moves: []time.Duration{0, 40 * day}, ends: 40 * day},
		"the same, twice":  {moves: []time.Duration{20 * day, 20 * day}, ends: 20 * day},
		"as late as it is": {moves: []time.Duration{14 * day}, ends: 14 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			deadline := env.begin.Add(14 * day)
			env.plan.Deadline = &deadline
			for i, to := range c.moves {
				env.env.RegisterDelayedCallback(func() {
					env.plan.Deadline = nil
					if to > 0 {
						at := env.begin.Add(to)
						env.plan.Deadline = &at
					}
					env.env.SignalWorkflow(temporal.SignalRescheduled, temporal.SignerSignal{})
				}, time.Duration(i+1)*day)
			}
			env.expires(models.StatusExpired)
			env.run(t)
			assert.Equal(t, []string{"invite A", "expire", "closing"}, env.calls)
			assert.Equal(t, c.ends, env.times["expire"].Round(time.Minute))
		})
	}
}

// TestReschedule_ChangesTheInterval checks that a new reminder interval applies as soon as its signal arrives.
func TestReschedule_ChangesTheInterval(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.remindsEvery(72 * time.Hour)
	env.env.RegisterDelayedCallback(func() {
		env.plan.ReminderEvery = 0
		env.plan.RemindAt = nil
		env.env.SignalWorkflow(temporal.SignalRescheduled, temporal.SignerSignal{})
	}, time.Hour)
	env.signal(30*24*time.Hour, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"invite A", "closing"}, env.calls)
}

// TestReschedule_AfterAllSigned checks that rescheduling has no effect after all signers have signed.
func TestReschedule_AfterAllSigned(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1)
	env.env.OnActivity(acts.Seal, mock.Anything, mock.Anything).After(time.Hour).Return(activities.Sealed{Status: models.StatusCompleted}, nil)
	env.signs(time.Hour, 0)
	env.signal(90*time.Minute, temporal.SignalRescheduled)
	env.run(t)
	assert.Equal(t, []string{"invite A", "copies"}, env.calls)
}

// TestReschedule_WhileReminding checks that the result of a reminder activity is ignored if the interval has changed in
// the meantime.
func TestReschedule_WhileReminding(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	env := newFakeEnv(t, 1)
	env.remindsEvery(7 * day)
	env.remindTakes = 2 * time.Minute
	answers := []time.Duration{14 * day, 30 * day}
	env.nextDue = func() *time.Time {
		at := env.begin.Add(answers[0])
		answers = answers[1:]
		return &at
	}
	env.env.RegisterDelayedCallback(func() {
		at := env.begin.Add(8 * day)
		env.plan.ReminderEvery, env.plan.RemindAt = day, &at
		env.env.SignalWorkflow(temporal.SignalRescheduled, temporal.SignerSignal{})
	}, 7*day+time.Minute)
	env.signal(10*day, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"invite A", "remind", "remind", "closing"}, env.calls)
	assert.Equal(t, 8*day, env.times["remind"].Truncate(time.Hour))
}
