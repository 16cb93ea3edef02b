package activities_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/locales"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/seal/lang"
	"countersign/seal/rejection"
	"countersign/temporal"
)

// TestInvitation_NamesTheDocuments checks that an invitation contains the subject, the message and the documents.
func TestInvitation_NamesTheDocuments(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		subject, message := "Lease of the mill", "Please by Friday."
		env.change(e, func(e *models.Envelope) error {
			e.Subject, e.Message = &subject, &message
			return nil
		})
		require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		require.Len(env.t, env.mails.mails, 1)
		m := env.mails.mails[0]
		assert.Contains(env.t, m.Subject, subject)
		assert.Contains(env.t, m.Text, message)
		assert.Contains(env.t, m.Text, "Lease of the mill (1).pdf")
		assert.Contains(env.t, m.Text, "Lease of the mill (2).pdf")
		assert.Equal(env.t, notify.Address{Name: "Name", Email: "a@example.com"}, m.To)
	})
}

// TestInvite_OnlyAwaitedSigners checks that an invitation is sent neither to signers of later groups nor to those who
// have already signed.
func TestInvite_OnlyAwaitedSigners(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sentInOrder(func(i int) int { return i + 1 }, "a@example.com", "b@example.com", "c@example.com")
		env.signAll(&models.Envelope{ID: e.ID, Signers: e.Signers[:1], Fields: e.Fields})
		for i, want := range []int{0, 1, 1} {
			require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[i].ID}))
			assert.Len(env.t, env.mails.mails, want)
		}
	})
}

// failingSMS rejects every text message.
type failingSMS struct{ err error }

func (s failingSMS) Send(context.Context, string, string) error { return s.err }

// TestInvite_RejectedTextMessage checks that a rejected text message is not an error, because the email contains the
// same link. An unavailable provider is an error.
func TestInvite_RejectedTextMessage(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.SMS = failingSMS{errors.New("provider is down")}
		e, in := env.sent("a@example.com", "b@example.com")
		number := "+442079460958"
		env.change(e, func(e *models.Envelope) error {
			e.Signers[0].Phone = &number
			return nil
		})
		invite := func(i int) error {
			return env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[i].ID})
		}
		require.NoError(env.t, invite(1))
		require.ErrorContains(env.t, invite(0), "provider is down")
		env.SMS = failingSMS{&notify.RejectedError{Err: errors.New("wrong token")}}
		require.ErrorContains(env.t, invite(0), "wrong token", "the configuration can be corrected")
		env.SMS = failingSMS{&notify.PermanentError{Err: errors.New("no such number")}}
		require.NoError(env.t, invite(0))
		env.SMS = failingSMS{errors.New("the provider must not be called again")}
		require.NoError(env.t, invite(0), "the message was abandoned")
		assert.Len(env.t, env.mails.mails, 2, "each recipient received one email")
	})
}

// TestNotifyTenant_RejectedAddress checks that an activity succeeds even if its notice to the tenant is rejected.
func TestNotifyTenant_RejectedAddress(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, own := env.t.Context(), "office@acme.example"
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, NotifyEmail: &own}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Decline(env.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}, nil, false)
			return err
		})
		env.mails.reject = own
		require.NoError(env.t, env.SendClosing(ctx, in))
		require.Len(env.t, env.mails.mails, 1)
		assert.Equal(env.t, "b@example.com", env.mails.mails[0].To.Email)
		assert.NotNil(env.t, env.mail(e, models.MailNotice).FailedAt)
	})
}

// TestRemindDeletion_NotWithoutRetention checks that no reminder is sent for files without a retention period.
func TestRemindDeletion_NotWithoutRetention(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.completed("a@example.com")
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 7}))
		assert.Empty(env.t, env.mails.mails)
		e, in := env.retained(30, "a@example.com")
		env.mails.reject = "a@example.com"
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 7}))
		assert.NotNil(env.t, env.mail(e, models.MailDeletion).FailedAt)
	})
}

// TestSealingFailed_TemporaryErrors checks that a temporary failure is retried according to the retry policy.
func TestSealingFailed_TemporaryErrors(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.clock.Add(models.SealingGracePeriod)
		env.sealer.fail = errors.New("time-stamp authority is down")
		_, err := env.env.ExecuteActivity(env.Seal, in)
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, err, &failed)
		assert.Zero(env.t, failed.NextRetryDelay())
		assert.NotEqual(env.t, string(models.SealingFailing), failed.Type())
		assert.Equal(env.t, models.SealingFailing, env.problem(e.ID))

		env.sealer.fail = rejection.New(rejection.GlyphMissing, "no glyph")
		env.sealer.onSeal = func() {
			db, err := env.Store.DB()
			require.NoError(env.t, err)
			_, err = db.ExecContext(env.t.Context(), "ALTER TABLE audit_events RENAME TO elsewhere")
			require.NoError(env.t, err)
		}
		_, err = env.seal(env.t.Context(), in)
		require.ErrorContains(env.t, err, "no glyph")
		require.ErrorContains(env.t, err, "change envelope", "both errors are reported")
		require.False(env.t, errors.As(err, &failed) && failed.Type() == string(models.SealingRejected))
	})
}

// TestEveryKindOfSigner_IsNamed checks that the certificate has a word for every special kind of signer in every
// language, and that the invitation tells such a signer what to do.
func TestEveryKindOfSigner_IsNamed(t *testing.T) {
	t.Parallel()
	for _, kind := range models.RecipientKinds() {
		if kind == models.RecipientCopy {
			continue // not a signer
		}
		shown, ordinary := string((&models.Signer{Kind: kind}).DisplayKind()), kind == models.RecipientSigner
		for _, tag := range locales.Tags() {
			assert.Equal(t, ordinary, lang.ForTag(tag).PartKinds[shown] == "", "%s, %s", kind, tag)
		}
		signature, err := templates.Invitation{SenderName: "Acme"}.Render()
		require.NoError(t, err)
		got, err := templates.Invitation{SenderName: "Acme", Request: templates.Request(shown)}.Render()
		require.NoError(t, err)
		assert.Equal(t, ordinary, got.Subject == signature.Subject, kind)
	}
}
