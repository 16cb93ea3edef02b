package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

// TestRouting_WitnessesAndCopies checks that a routing group waits for its witnesses, who are invited after the
// witnessed signature, but not for its copy recipients.
func TestRouting_WitnessesAndCopies(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 2, 2, 4) // signers A, B, C
	principal := env.plan.Signers[0].ID
	env.plan.Signers[1].After = &principal
	for _, group := range []int{1, 3, 5} { // recipients a, b, c
		env.plan.Copies = append(env.plan.Copies, models.RoutingPosition{ID: uuid.New(), Group: group})
	}
	env.seals()
	env.signs(time.Hour, 0)
	env.signs(2*time.Hour, 1)
	env.signs(3*time.Hour, 2)
	env.run(t)
	require.ElementsMatch(t, []string{"invite A", "invite a", "invite B", "invite b", "invite C", "seal", "copies"}, env.calls)
	for call, at := range map[string]time.Duration{"invite A": 0, "invite a": 0, "invite B": time.Hour, "invite b": 2 * time.Hour, "invite C": 2 * time.Hour, "seal": 3 * time.Hour} {
		require.InDelta(t, at, env.times[call], float64(time.Minute), call)
	}
}

// TestRouting_WitnessAfterRestart checks that a restarted workflow reads earlier signatures from the plan.
func TestRouting_WitnessAfterRestart(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1)
	principal := env.plan.Signers[0].ID
	env.plan.Signers[0].Signed, env.plan.Signers[1].After = true, &principal
	env.seals()
	env.signs(time.Hour, 1)
	env.run(t)
	require.Equal(t, []string{"invite B", "seal", "copies"}, env.calls)
}

// TestTimers_OfLaterInvitations checks that reminders and renewals are scheduled for signers who are invited later,
// even if the plan contained no such times.
func TestTimers_OfLaterInvitations(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		groups   []int
		every    time.Duration
		deadline time.Duration // 0 for none
		want     []string
	}{
		"another group":              {groups: []int{1, 2}, want: []string{"renew 29", "renew 56"}},
		"another group, reminded":    {groups: []int{1, 2}, every: 20 * day, want: []string{"remind 22", "renew 29", "remind 42", "renew 56"}},
		"a witness":                  {groups: []int{1, 1}, every: 20 * day, want: []string{"remind 22", "renew 29", "remind 42", "renew 56"}},
		"a witness and no reminders": {groups: []int{1, 1}, want: []string{"renew 29", "renew 56"}},
		"a late deadline":            {groups: []int{1, 2}, deadline: 90 * day, want: []string{"renew 29", "renew 56"}},
		"links end by the deadline":  {groups: []int{1, 2}, deadline: 32 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, c.groups...)
			env.seals()
			env.plan.ReminderEvery = c.every
			if c.groups[1] == 1 {
				env.plan.Signers[1].After = &env.plan.Signers[0].ID
			}
			if c.deadline > 0 {
				env.plan.Deadline = new(env.begin.Add(c.deadline))
			}
			var got []string
			note := func(what string) {
				env.mu.Lock()
				defer env.mu.Unlock()
				got = append(got, fmt.Sprintf("%s %.0f", what, env.env.Now().Sub(env.begin).Hours()/24))
			}
			env.env.OnActivity(acts.RenewLinks, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) (*time.Time, error) {
				note("renew")
				return new(env.env.Now().Add(27 * day)), nil
			}).Maybe()
			env.nextDue = func() *time.Time {
				note("remind")
				return new(env.env.Now().Add(c.every))
			}
			last := 60 * day
			if c.deadline > 0 && c.deadline < last {
				last = c.deadline - day
			}
			env.signs(2*day, 0)
			env.signs(last, 1)
			env.run(t)
			require.Equal(t, c.want, got)
		})
	}
}
