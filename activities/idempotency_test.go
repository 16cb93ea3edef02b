package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

func (env *fakeEnv) noDeadline(e *models.Envelope) {
	env.t.Helper()
	env.change(e, func(e *models.Envelope) error {
		e.ExpiresAt = nil
		for _, s := range e.Signers {
			until := s.LinkIssuedAt.Add(models.LinkLifetime)
			s.LinkExpiresAt = &until
		}
		return nil
	})
}

// link returns the ID of the first signer's current link.
func (env *fakeEnv) link(e *models.Envelope) uuid.UUID {
	env.t.Helper()
	now, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
	require.NoError(env.t, err)
	return *now.Signers[0].LinkID
}

// TestRemind_ReplacesLinkOnce checks that retries of the email do not replace the link again.
func TestRemind_ReplacesLinkOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.ReminderInterval = 28 * 24 * time.Hour
		e, in := env.sent("a@example.com")
		env.noDeadline(e)
		first := env.link(e)
		env.clock.Add(env.ReminderInterval)
		env.mails.fail = errors.New("connection refused")
		_, err := env.Remind(env.t.Context(), in)
		require.Error(env.t, err)
		second := env.link(e)
		require.NotEqual(env.t, first, second)
		_, err = env.Remind(env.t.Context(), in)
		require.NoError(env.t, err, "a new link restarts the interval")
		require.Equal(env.t, second, env.link(e))
	})
}

// TestRenewLinks_ConcurrentWorkersRenewOnce checks that two concurrent workers renew a link only once.
func TestRenewLinks_ConcurrentWorkersRenewOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.noDeadline(e)
		env.clock.Add(models.LinkLifetime - models.RenewBefore)
		another, meanwhile := *env.Activities, false
		env.Now = func() time.Time {
			if !meanwhile {
				meanwhile = true
				_, err := another.RenewLinks(env.t.Context(), in)
				require.NoError(env.t, err)
			}
			return env.clock.Now()
		}
		next, err := env.RenewLinks(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, env.clock.Now().Add(models.LinkLifetime-models.RenewBefore), next.UTC())
		assert.Equal(env.t, 1, env.events(e, models.EventLinkRenewed))
	})
}

// TestExpire_FailsIfNotRecorded checks that Expire returns an error if the expiry cannot be recorded.
func TestExpire_FailsIfNotRecorded(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		_, in := env.sent("a@example.com")
		env.clock.Add(31 * 24 * time.Hour)
		db, err := env.Store.DB()
		require.NoError(env.t, err)
		_, err = db.ExecContext(env.t.Context(), "ALTER TABLE audit_events RENAME TO elsewhere")
		require.NoError(env.t, err)
		status, err := env.Expire(env.t.Context(), in)
		require.Error(env.t, err)
		assert.Empty(env.t, status)
	})
}

// TestRemindDeletion_NotAfterThePurge checks that no reminder is sent after the files were purged.
func TestRemindDeletion_NotAfterThePurge(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.retained(7, "a@example.com")
		require.Equal(env.t, 2, env.sealer.last.Document.Order)
		assert.Empty(env.t, env.sealer.last.Values, "all fields are on the first document")
		env.clock.Add(7 * 24 * time.Hour)
		require.NoError(env.t, env.Purge(ctx, in))
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 1}))
		assert.Empty(env.t, env.mails.mails)
	})
}

// TestMails_NameTheRecipient checks that each email addresses its reader by name.
func TestMails_NameTheRecipient(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, number := env.t.Context(), "+442079460958"
		env.SMS = &fakeSMS{}
		e, in := env.sent("a@example.com")
		env.change(e, func(e *models.Envelope) error {
			e.Signers[0].Name, e.Signers[0].Phone = "Ada Lovelace", &number
			return nil
		})
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		mails, err := env.Store.Mails(ctx, e.ID)
		require.NoError(env.t, err)
		require.Len(env.t, mails, 2)
		for _, m := range mails {
			assert.Equal(env.t, models.MailInvitation, m.Kind)
			assert.NotNil(env.t, m.SentAt)
		}
		env.void(e)
		require.NoError(env.t, env.SendClosing(ctx, in))
		require.Len(env.t, env.mails.mails, 2)
		for _, m := range env.mails.mails {
			assert.Contains(env.t, m.Text, "Ada Lovelace")
		}
	})
}
