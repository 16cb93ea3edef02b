package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// TestFinish: sealing and sending are one step where all goes well, and what it did not
// come to has a step of its own.
func TestFinish(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finished activities.Finished
		calls    []string
		shown    []string
	}{
		"all at once":     {activities.Finished{Status: models.StatusCompleted, Copied: true}, []string{"finish"}, []string{"completed"}},
		"mail is down":    {activities.Finished{Status: models.StatusCompleted}, []string{"finish", "copies"}, []string{"completed"}},
		"voided first":    {activities.Finished{Status: models.StatusVoided}, []string{"finish", "closing"}, []string{"voided"}},
		"seal not at all": {activities.Finished{}, []string{"seal", "copies"}, []string{"sealing", "completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			env.finished = c.finished
			env.seals()
			env.signs(time.Minute, 0)
			shown := upserts(env.env)
			env.run(t)
			assert.Equal(t, append([]string{"invite A"}, c.calls...), env.calls)
			assert.Equal(t, c.shown, *shown)
		})
	}
}

// TestWhoIsNotReachedIsInvitedAgain, alone, while the others have their mail.
func TestWhoIsNotReachedIsInvitedAgain(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1, 1)
	env.missed = env.plan.Signers[1].ID
	env.signal(time.Hour, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"invite A", "invite C", "invite B", "closing"}, env.calls)
}
