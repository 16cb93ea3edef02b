package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
)

// TestSeal_AlsoSendsCopies checks that the copies are sent in a separate step only if sealing did not send them.
func TestSeal_AlsoSendsCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sealed activities.Sealed
		calls  []string
		shown  []string
	}{
		"all at once":  {activities.Sealed{Status: models.StatusCompleted, Copied: true}, []string{"seal"}, []string{"completed"}},
		"mail is down": {activities.Sealed{Status: models.StatusCompleted}, []string{"seal", "copies"}, []string{"completed"}},
		"voided first": {activities.Sealed{Status: models.StatusVoided}, []string{"seal", "closing"}, []string{"voided"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newFakeEnv(t, 1)
			env.sealsTo(c.sealed)
			env.signs(time.Minute, 0)
			shown := upserts(env.env)
			env.run(t)
			assert.Equal(t, append([]string{"invite A"}, c.calls...), env.calls)
			assert.Equal(t, c.shown, *shown)
		})
	}
}

// TestInvite_OneUnreachableRecipient checks that the other recipients receive their emails immediately, and that a
// retry reaches the remaining recipient.
func TestInvite_OneUnreachableRecipient(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1, 1)
	env.missed = env.plan.Signers[1].ID
	env.signal(time.Hour, temporal.SignalVoided)
	env.run(t)
	assert.Equal(t, []string{"invite A", "invite C", "invite B", "closing"}, env.calls)
}
