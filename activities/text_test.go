package activities_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

type fakeSMS struct{ sent []string }

func (x *fakeSMS) Send(_ context.Context, _, text string) error {
	x.sent = append(x.sent, text)
	return nil
}

// TestTextMessages: who proves by a text message to have the phone does not get
// the link by one, too; everybody else gets a short one that leads to the same.
func TestTextMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		phone := &fakeSMS{}
		env.SMS = phone
		e, in := env.sent("a@example.com", "b@example.com")
		number := "+442079460958"
		env.change(e, func(e *models.Envelope) error {
			for i, method := range []models.AuthMethod{models.AuthSMSOTP, models.AuthEmailOTP} {
				e.Signers[i].Phone, e.Signers[i].AuthMethod = &number, method
			}
			return nil
		})
		for _, s := range e.Signers {
			invite := temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID}
			require.NoError(env.t, env.Invite(env.t.Context(), invite))
			require.NoError(env.t, env.Invite(env.t.Context(), invite))
		}
		require.Len(env.t, phone.sent, 2, "each once")
		mails, err := env.Store.Mails(env.t.Context(), e.ID)
		require.NoError(env.t, err)
		require.Len(env.t, mails, 4)
		for _, m := range mails {
			assert.Equal(env.t, models.MailInvitation, m.Kind, m.ID)
		}
		assert.NotContains(env.t, phone.sent[0], "https://")
		assert.Contains(env.t, phone.sent[0], "mail")
		short := env.Store.ShortLink(*e.Signers[1].LinkID)
		assert.Contains(env.t, phone.sent[1], "https://example.com/sign/"+short)
		assert.LessOrEqual(env.t, len(phone.sent[1]), 160, "one message")
		app, link, err := env.Store.LinkByShortForm(env.t.Context(), short)
		require.NoError(env.t, err)
		assert.Equal(env.t, env.app.ID, app)
		assert.Equal(env.t, models.Link{EnvelopeID: e.ID, SignerID: e.Signers[1].ID, ID: *e.Signers[1].LinkID}, link)
		_, _, err = env.Store.LinkByShortForm(env.t.Context(), env.Store.ShortLink(uuid.New()))
		require.ErrorIs(env.t, err, models.ErrNotFound)
	})
}

// TestExpireWithoutADatabase is tried again: nothing is known of the envelope's end.
func TestExpireWithoutADatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		_, in := env.sent("ada@example.com")
		ctx, cancel := context.WithCancel(env.t.Context())
		cancel()
		status, err := env.Expire(ctx, in)
		require.ErrorIs(env.t, err, context.Canceled)
		assert.Empty(env.t, status)
	})
}
