package activities_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/notify"
	"countersign/temporal"
)

// TestMails_UseTenantSettings checks that emails use the tenant's language, sender name and Reply-To address.
func TestMails_UseTenantSettings(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, name, language, reply, own := env.t.Context(), "Müller & Söhne", "de", "antwort@mueller.example", "buero@mueller.example"
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, SenderName: &name, Language: &language, ReplyTo: &reply, NotifyEmail: &own}))
		e, in := env.sent("a@example.com", "b@example.com")
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[1].ID}))
		invitation := env.mails.mails[len(env.mails.mails)-1]
		assert.Equal(env.t, "b@example.com", invitation.To.Email)
		assert.Equal(env.t, name, invitation.FromName)
		assert.Equal(env.t, reply, invitation.ReplyTo)
		assert.Contains(env.t, invitation.Text, "Müller & Söhne bittet Sie")
		assert.Contains(env.t, invitation.HTML, `lang="de"`)

		env.change(e, func(e *models.Envelope) error {
			reason, s := "Ziffer 4.", e.Signers[1]
			_, err := e.Decline(env.act(), models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}, &reason, false)
			return err
		})
		before := len(env.mails.mails)
		require.NoError(env.t, env.SendClosing(ctx, in))
		require.NoError(env.t, env.SendClosing(ctx, in), "an activity may run again")
		var notices []notify.Mail
		for _, m := range env.mails.mails[before:] {
			if m.To.Email == own {
				notices = append(notices, m)
			}
		}
		require.Len(env.t, notices, 1)
		assert.Contains(env.t, notices[0].Subject, "Abgelehnt")
		assert.Contains(env.t, notices[0].Text, "Ziffer 4.")
		assert.Equal(env.t, string(models.MailNotice), notices[0].Kind)
	})
}

// TestFailedInvitation_NotifiesTheContact checks that the tenant's contact, if there is one, is notified about a
// rejected address.
func TestFailedInvitation_NotifiesTheContact(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		onBothDatabases(t, func(env *fakeEnv) {
			ctx, own := env.t.Context(), "office@acme.example"
			if told {
				require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, NotifyEmail: &own}))
			}
			e, in := env.sent("a@example.com")
			env.mails.reject = "a@example.com"
			require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
			require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}), "an activity may run again")
			var notices []notify.Mail
			for _, m := range env.mails.mails {
				if m.To.Email == own {
					notices = append(notices, m)
				}
			}
			if !told {
				require.Empty(env.t, notices)
				return
			}
			require.Len(env.t, notices, 1)
			assert.Contains(env.t, notices[0].Text, "a@example.com")
			assert.Contains(env.t, notices[0].Text, "550")
		})
	}
}

// TestFailedInvitation_NotifiesAfterInterruption checks that the tenant's contact is notified even if the activity was
// interrupted before the rejection was recorded.
func TestFailedInvitation_NotifiesAfterInterruption(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		own := "office@acme.example"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, NotifyEmail: &own}))
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		env.mails.reject, env.mails.deferred = "a@example.com", own

		ctx, stop := context.WithCancel(env.t.Context())
		newID := env.NewID
		env.NewID = func() uuid.UUID { stop(); return newID() } // interrupts the activity before it records the event
		require.ErrorIs(env.t, env.Invite(ctx, invite), context.Canceled)
		env.NewID = newID
		require.Zero(env.t, env.events(e, models.EventInvitationFailed))

		require.ErrorContains(env.t, env.Invite(env.t.Context(), invite), "451")
		require.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		require.NotNil(env.t, env.mail(e, models.MailInvitation).FailedAt)

		env.mails.deferred = ""
		for range 2 {
			require.NoError(env.t, env.Invite(env.t.Context(), invite))
		}
		require.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		require.Contains(env.t, env.mails.mails[0].Text, "550")
		require.Equal(env.t, []string{"notice " + own}, env.mailedTo())
	})
}

// TestStuckSealing_NotifiesOnce checks that each sealing problem causes one email.
func TestStuckSealing_NotifiesOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		own := "office@acme.example"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, NotifyEmail: &own}))
		e, in := env.sent("a@example.com")
		env.signAll(e)
		require.NoError(env.t, env.Blobs.Delete(env.t.Context(), e.Originals()[1].BlobKey))
		for range 3 {
			_, err := env.env.ExecuteActivity(env.Seal, in)
			require.Error(env.t, err)
		}
		require.Len(env.t, env.mails.mails, 1)
		assert.Equal(env.t, own, env.mails.mails[0].To.Email)
		assert.Contains(env.t, env.mails.mails[0].Subject, "Sealing problem")
		assert.Contains(env.t, env.mails.mails[0].Text, models.SealingOriginalMissing.Message())
	})
}
