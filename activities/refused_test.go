package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

// TestAnAddressThatIsRefusedForDays is given up, and the others' mails go out once. A mail
// server that is down longer than that loses no mail.
func TestAnAddressThatIsRefusedForDays(t *testing.T) {
	t.Parallel()
	const days = 5 * 24 * time.Hour
	onBoth(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		env.sealed(in)
		env.mails.later = "a@example.com"
		require.Error(env.t, env.SendCopies(ctx, in))
		env.clock.Add(days - time.Minute)
		require.ErrorContains(env.t, env.SendCopies(ctx, in), "451", "it is still tried")
		assert.True(env.t, env.unfinished(e))
		env.clock.Add(time.Minute)
		require.NoError(env.t, env.SendCopies(ctx, in))
		assert.Equal(env.t, []string{"completed b@example.com"}, env.mailedTo())
		assert.False(env.t, env.unfinished(e))
		mails, err := env.Store.Mails(ctx, e.ID)
		require.NoError(env.t, err)
		require.Len(env.t, mails, 2)
		assert.Equal(env.t, "451 later, for days", mails[0].Error)
	})
	onBoth(t, func(env *fakeEnv) { // likewise who is to sign, and the sender is told
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		env.mails.later = "a@example.com"
		require.Error(env.t, env.Invite(env.t.Context(), invite))
		assert.Zero(env.t, env.events(e, models.EventInvitationFailed))
		env.clock.Add(days)
		require.NoError(env.t, env.Invite(env.t.Context(), invite))
		assert.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
	})
	onBoth(t, func(env *fakeEnv) { // and the sender's own address
		notify := "sender@example.com"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, NotifyEmail: &notify}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Decline(env.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}, nil, false)
			return err
		})
		env.mails.later = notify
		require.ErrorContains(env.t, env.SendClosing(env.t.Context(), in), "451")
		assert.Equal(env.t, []string{"closed b@example.com"}, env.mailedTo(), "the others do not wait for it")
		env.clock.Add(days)
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
	})
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.sealed(in)
		env.mails.fail = errors.New("mail server: connection refused")
		require.Error(env.t, env.SendCopies(env.t.Context(), in))
		env.clock.Add(2 * days)
		require.Error(env.t, env.SendCopies(env.t.Context(), in))
		env.mails.fail = nil
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())
	})
}
