package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

// TestRemindOnRequest checks that each request sends one email with the current link, unless the signer is no longer
// awaited.
func TestRemindOnRequest(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.drainOutbox()
		link := *e.Signers[0].LinkID
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Remind(env.act(), e.Signers[0].ID)
			return err
		})
		rows, err := env.Store.ClaimOutbox(env.t.Context(), 9, time.Minute)
		require.NoError(env.t, err)
		require.Len(env.t, rows, 1)
		require.True(env.t, rows[0].Refs.Reminder)
		require.NoError(env.t, env.Store.FinishOutbox(env.t.Context(), rows[0].Seq))
		request := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, Reminder: &rows[0].ID}
		unsent := func() []models.OutboxRow {
			rows, _, err := env.Store.Unfinished(env.t.Context(), store.WorkCopies, uuid.Nil, 9)
			require.NoError(env.t, err)
			return rows
		}

		require.Len(env.t, unsent(), 1, "the workflow can be lost before the first attempt")

		env.mails.fail = errors.New("the mail server is down")
		require.Error(env.t, env.Invite(env.t.Context(), request))
		require.Zero(env.t, env.events(e, models.EventReminderSent))
		lost := unsent()
		require.Len(env.t, lost, 1)
		require.Equal(env.t, []any{models.OutboxReinvite, true, *request.Reminder}, []any{lost[0].Kind, lost[0].Refs.Reminder, lost[0].ListedBy()})

		env.mails.fail = nil
		for range 2 {
			require.NoError(env.t, env.Invite(env.t.Context(), request))
		}
		require.Len(env.t, env.mails.mails, 1)
		require.Equal(env.t, "a@example.com", env.mails.mails[0].To.Email)
		require.Contains(env.t, env.mails.mails[0].Subject, "Reminder: ")
		require.Equal(env.t, 1, env.events(e, models.EventReminderSent))
		require.Empty(env.t, unsent())
		now, err := env.Store.Envelope(env.t.Context(), in.AppID, in.EnvelopeID)
		require.NoError(env.t, err)
		require.Equal(env.t, link, *now.Signers[0].LinkID, "the link does not change")
		mails, err := env.Store.Mails(env.t.Context(), e.ID)
		require.NoError(env.t, err)
		require.Zero(env.t, models.RemindersSettled(mails, e.Signers[0].ID), "the numbers of scheduled reminders do not change")

		late := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, Reminder: new(uuid.New())}
		env.mails.fail = errors.New("the mail server is down")
		require.Error(env.t, env.Invite(env.t.Context(), late))
		require.Len(env.t, unsent(), 1)
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		env.drainOutbox()
		env.mails.fail = nil
		require.NoError(env.t, env.Invite(env.t.Context(), late))
		require.Len(env.t, env.mails.mails, 1)
		require.Empty(env.t, unsent(), "no signer must be reminded anymore")
	})
}
