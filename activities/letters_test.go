package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/notify"
	"countersign/temporal"
)

// TestEveryMailSaysWhatItIs: its kind, whom it is for, in whose name it goes out and who gets the answers; and the
// service remembers it under the same kind.
func TestEveryMailSaysWhatItIs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		ctx := h.t.Context()
		days, sender, reply, notice := 30, "The Sender", "reply@example.com", "notice@example.com"
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{
			AppID: h.app.ID, TenantID: "t", RetentionDays: &days, SenderName: &sender, ReplyTo: &reply, NotifyEmail: &notice,
		}))
		h.AttachmentLimit = 1 // so that everyone gets links
		mails := func() []notify.Mail {
			sent := h.post.mails
			h.post.mails = nil
			return sent
		}
		check := func(kind models.MailKind, e *models.Envelope, want ...string) {
			h.t.Helper()
			sent := mails()
			var to []string
			for _, m := range sent {
				to = append(to, m.To.Email)
				require.Equal(h.t, string(kind), m.Kind)
				require.Equal(h.t, sender, m.FromName)
				require.Equal(h.t, reply, m.ReplyTo)
				require.Equal(h.t, "Name", m.To.Name)
				require.NotEmpty(h.t, m.MessageID)
				kept, err := h.Store.Mails(ctx, e.ID)
				require.NoError(h.t, err)
				found := false
				for _, k := range kept {
					if k.ID == m.MessageID {
						found = true
						require.Equal(h.t, kind, k.Kind)
					}
				}
				require.True(h.t, found, "%s is remembered", kind)
			}
			require.ElementsMatch(h.t, want, to, kind)
		}
		e, in := h.sent("a@example.com", "b@example.com")
		for _, s := range e.Signers {
			require.NoError(h.t, h.Invite(ctx, activities.SignerInput{EnvelopeInput: in, SignerID: s.ID}))
			check(models.MailInvitation, e, s.Email)
		}
		h.clock.Add(h.ReminderInterval)
		h.reminded(in)
		check(models.MailReminder, e, "a@example.com", "b@example.com")
		h.signAll(e)
		h.sealed(in)
		require.NoError(h.t, h.SendCopies(ctx, in))
		check(models.MailCompleted, e, "a@example.com", "b@example.com")
		require.NoError(h.t, h.RemindDeletion(ctx, activities.RemindDeletionInput{EnvelopeInput: in, Days: 14}))
		check(models.MailDeletion, e, "a@example.com", "a@example.com", "b@example.com", "b@example.com")

		var closed temporal.EnvelopeInput
		e, closed = h.sent("c@example.com")
		h.change(e, func(e *models.Envelope) error { return e.Void(h.act(), nil) })
		require.NoError(h.t, h.SendCopies(ctx, closed), "nothing is sealed")
		require.Empty(h.t, mails())
		require.NoError(h.t, h.SendClosing(ctx, closed))
		check(models.MailClosed, e, "c@example.com")
	})
}
