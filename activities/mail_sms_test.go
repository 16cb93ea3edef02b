package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

type fakeSMS struct {
	sent []string
	fail error
}

func (x *fakeSMS) Send(_ context.Context, _, text string) error {
	if x.fail != nil {
		return x.fail
	}
	x.sent = append(x.sent, text)
	return nil
}

// TestTextMessages_LinkUnlessCode checks that the text message contains a short link to the signing page, except for
// signers who verify their identity by text message.
func TestTextMessages_LinkUnlessCode(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
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

// TestTextMessages_WhileMailIsRejected checks that a text message waits for the email only if it refers to that email.
func TestTextMessages_WhileMailIsRejected(t *testing.T) {
	t.Parallel()
	number, notify := "+442079460958", "sender@example.com"
	for _, test := range []struct {
		method    models.AuthMethod
		delegated bool
		later     string
		texts     int
	}{
		{method: models.AuthEmailOTP, later: "a@example.com", texts: 1},
		{method: models.AuthSMSOTP, later: "a@example.com", texts: 0},
		{method: models.AuthEmailOTP, delegated: true, later: notify, texts: 1},
		{method: models.AuthSMSOTP, delegated: true, later: notify, texts: 1},
	} {
		onBothDatabases(t, func(env *fakeEnv) {
			ctx, phone := env.t.Context(), &fakeSMS{}
			env.SMS = phone
			e, in := env.sent("a@example.com")
			require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, TenantID: e.TenantID, NotifyEmail: &notify}))
			env.change(e, func(e *models.Envelope) error {
				s := e.Signers[0]
				if test.delegated {
					s.AllowDelegation = true
					if _, err := e.Delegate(env.act(), models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID},
						models.Replacement{Name: "Bea", Email: "b@example.com"}); err != nil {
						return err
					}
				}
				s.Phone, s.AuthMethod = &number, test.method
				return nil
			})
			s := env.load(in).Signers[0]
			invite := temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID, LinkID: s.LinkID}
			env.mails.deferred = test.later
			for range 2 {
				require.ErrorContains(env.t, env.Invite(ctx, invite), "451")
			}
			require.Len(env.t, phone.sent, test.texts)
			env.mails.deferred = ""
			require.NoError(env.t, env.Invite(ctx, invite))
			require.Len(env.t, phone.sent, 1, "exactly once")
		})
	}
}

// TestTextMessages_NotAboutRejectedMail checks that no text message refers to a permanently rejected email.
func TestTextMessages_NotAboutRejectedMail(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, phone, number := env.t.Context(), &fakeSMS{}, "+442079460958"
		env.SMS = phone
		e, in := env.sent("a@example.com")
		env.change(e, func(e *models.Envelope) error {
			e.Signers[0].Phone, e.Signers[0].AuthMethod = &number, models.AuthSMSOTP
			return nil
		})
		env.mails.reject = "a@example.com"
		for range 2 { // an activity may run more than once
			require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		}
		assert.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		assert.Empty(env.t, phone.sent)
	})
}

// TestTextMessages_KeepTheirLink checks that a reminder, which is sent only by email, does not replace a link that was
// also sent by text message.
func TestTextMessages_KeepTheirLink(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	onBothDatabases(t, func(env *fakeEnv) {
		phone := &fakeSMS{}
		env.SMS = phone
		e, in := env.sent("a@example.com")
		env.noDeadline(e)
		number := "+442079460958"
		env.change(e, func(e *models.Envelope) error {
			e.Signers[0].Phone, e.Signers[0].AuthMethod = &number, models.AuthEmailOTP
			return nil
		})
		env.mails.reject = "a@example.com"
		env.groupInvites(in, e)
		env.claimReinvites(in)
		link := func() uuid.UUID { return *env.load(in).Signers[0].LinkID }
		first := link()
		require.Len(env.t, phone.sent, 1)
		env.clock.Add(25 * day)
		env.reminded(in)
		assert.Equal(env.t, first, link(), "the link in the text message works")
		env.clock.Add(2 * day)
		_, err := env.RenewLinks(env.t.Context(), in)
		require.NoError(env.t, err)
		require.Equal(env.t, 1, env.claimReinvites(in))
		require.NotEqual(env.t, first, link())
		require.Len(env.t, phone.sent, 2)
		assert.Contains(env.t, phone.sent[1], env.Store.ShortLink(link()))
	})
}

// TestExpire_RetriesWithoutDatabase checks that an expiry is retried while the status of the envelope is unknown.
func TestExpire_RetriesWithoutDatabase(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		_, in := env.sent("ada@example.com")
		ctx, cancel := context.WithCancel(env.t.Context())
		cancel()
		status, err := env.Expire(ctx, in)
		require.ErrorIs(env.t, err, context.Canceled)
		assert.Empty(env.t, status)
	})
}
