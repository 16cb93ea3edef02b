package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/notify"
	"countersign/temporal"
)

// TestMails_HaveKindAndAddresses checks the kind, addressee, sender name and Reply-To address of each email.
func TestMails_HaveKindAndAddresses(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		days, sender, reply, notice := 30, "The Sender", "reply@example.com", "notice@example.com"
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{
			AppID: env.app.ID, TenantID: "t", RetentionDays: &days, SenderName: &sender, ReplyTo: &reply, NotifyEmail: &notice,
		}))
		env.AttachmentLimit = 1 // so that all recipients receive links
		mails := func() []notify.Mail {
			sent := env.mails.mails
			env.mails.mails = nil
			return sent
		}
		check := func(kind models.MailKind, e *models.Envelope, want ...string) {
			env.t.Helper()
			sent := mails()
			var to []string
			for _, m := range sent {
				to = append(to, m.To.Email)
				require.Equal(env.t, string(kind), m.Kind)
				require.Equal(env.t, sender, m.FromName)
				require.Equal(env.t, reply, m.ReplyTo)
				require.Equal(env.t, "Name", m.To.Name)
				require.NotEmpty(env.t, m.MessageID)
				kept, err := env.Store.Mails(ctx, e.ID)
				require.NoError(env.t, err)
				found := false
				for _, k := range kept {
					if k.ID == m.MessageID {
						found = true
						require.Equal(env.t, kind, k.Kind)
					}
				}
				require.True(env.t, found, "%s is remembered", kind)
			}
			require.ElementsMatch(env.t, want, to, kind)
		}
		e, in := env.sent("a@example.com", "b@example.com")
		for _, s := range e.Signers {
			require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID}))
			check(models.MailInvitation, e, s.Email)
		}
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		check(models.MailReminder, e, "a@example.com", "b@example.com")
		env.signAll(e)
		env.sealed(in)
		require.NoError(env.t, env.SendCopies(ctx, in))
		check(models.MailCompleted, e, "a@example.com", "b@example.com")
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 14}))
		check(models.MailDeletion, e, "a@example.com", "a@example.com", "b@example.com", "b@example.com")

		var closed temporal.EnvelopeInput
		e, closed = env.sent("c@example.com")
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		require.NoError(env.t, env.SendCopies(ctx, closed), "no document is sealed")
		require.Empty(env.t, mails())
		require.NoError(env.t, env.SendClosing(ctx, closed))
		check(models.MailClosed, e, "c@example.com")
	})
}
