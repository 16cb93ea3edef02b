package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/notify"
)

// TestMailsSpeakForTheTenant: in its language, under its name, answered to its
// address; and its people are told of what went wrong.
func TestMailsSpeakForTheTenant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		ctx, name, language, reply, own := h.t.Context(), "Müller & Söhne", "de", "antwort@mueller.example", "buero@mueller.example"
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, SenderName: &name, Language: &language, ReplyTo: &reply, NotifyEmail: &own}))
		e, in := h.sent("a@example.com", "b@example.com")
		require.NoError(h.t, h.Invite(ctx, activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[1].ID}))
		invitation := h.post.mails[len(h.post.mails)-1]
		assert.Equal(h.t, "b@example.com", invitation.To.Email)
		assert.Equal(h.t, name, invitation.FromName)
		assert.Equal(h.t, reply, invitation.ReplyTo)
		assert.Contains(h.t, invitation.Text, "Müller & Söhne bittet Sie")
		assert.Contains(h.t, invitation.HTML, `lang="de"`)

		h.change(e, func(e *models.Envelope) error {
			reason, s := "Ziffer 4.", e.Signers[1]
			_, err := e.Decline(h.act(), models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}, &reason)
			return err
		})
		before := len(h.post.mails)
		require.NoError(h.t, h.SendClosing(ctx, in))
		require.NoError(h.t, h.SendClosing(ctx, in), "an activity may run again")
		var notices []notify.Mail
		for _, m := range h.post.mails[before:] {
			if m.To.Email == own {
				notices = append(notices, m)
			}
		}
		require.Len(h.t, notices, 1)
		assert.Contains(h.t, notices[0].Subject, "Abgelehnt")
		assert.Contains(h.t, notices[0].Text, "Ziffer 4.")
		assert.Equal(h.t, string(models.MailNotice), notices[0].Kind)
	})
}

// TestFailedInvitationsAreTold: the sender's people, and nobody where they named
// no address.
func TestFailedInvitationsAreTold(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		onBoth(t, func(h *house) {
			ctx, own := h.t.Context(), "office@acme.example"
			if told {
				require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, NotifyEmail: &own}))
			}
			e, in := h.sent("a@example.com")
			h.post.refuse = "a@example.com"
			require.NoError(h.t, h.Invite(ctx, activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
			require.NoError(h.t, h.Invite(ctx, activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}), "an activity may run again")
			var notices []notify.Mail
			for _, m := range h.post.mails {
				if m.To.Email == own {
					notices = append(notices, m)
				}
			}
			if !told {
				require.Empty(h.t, notices)
				return
			}
			require.Len(h.t, notices, 1)
			assert.Contains(h.t, notices[0].Text, "a@example.com")
			assert.Contains(h.t, notices[0].Text, "550")
		})
	}
}

// TestStuckSealingIsTold: once for each problem.
func TestStuckSealingIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		own := "office@acme.example"
		require.NoError(h.t, h.Store.SaveSettings(h.t.Context(), models.Settings{AppID: h.app.ID, NotifyEmail: &own}))
		e, in := h.sent("a@example.com")
		h.signAll(e)
		require.NoError(h.t, h.Blobs.Delete(h.t.Context(), e.Originals()[1].BlobKey))
		for range 3 {
			_, err := h.env.ExecuteActivity(h.Seal, in)
			require.Error(h.t, err)
		}
		require.Len(h.t, h.post.mails, 1)
		assert.Equal(h.t, own, h.post.mails[0].To.Email)
		assert.Contains(h.t, h.post.mails[0].Subject, "Sealing is stuck")
		assert.Contains(h.t, h.post.mails[0].Text, models.SealingOriginalMissing.Sentence())
	})
}
