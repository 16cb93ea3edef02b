package activities_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/temporal"
)

// TestReinvite_LinkRenewedTwice checks that each task sends only its own link. Regardless of the order of the tasks,
// the newest link is emailed once, and an expired link is not emailed.
func TestReinvite_LinkRenewedTwice(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sent("ada@example.com")
		signer := e.Signers[0].ID
		rows := func() (out []models.OutboxRow) {
			for {
				taken, err := env.Store.ClaimOutbox(ctx, 100, time.Minute)
				require.NoError(env.t, err)
				if len(taken) == 0 {
					return out
				}
				for _, r := range taken {
					require.NoError(env.t, env.Store.FinishOutbox(ctx, r.Seq))
				}
				out = append(out, taken...)
			}
		}
		rows()
		for range 2 {
			env.change(e, func(e *models.Envelope) error { return e.Reinvite(env.act(), signer) })
		}
		var links []*uuid.UUID
		for _, r := range rows() {
			require.Equal(env.t, models.OutboxReinvite, r.Kind)
			links = append(links, r.Refs.LinkID)
		}
		require.Len(env.t, links, 2)
		now, err := env.Store.Envelope(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		require.Equal(env.t, now.Signers[0].LinkID, links[1])
		require.NotEqual(env.t, links[0], links[1])

		var running sync.WaitGroup
		failed := make([]error, len(links))
		for i, link := range links {
			running.Go(func() {
				failed[i] = env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: signer, LinkID: link})
			})
		}
		running.Wait()
		assert.Equal(env.t, make([]error, 2), failed)
		require.Len(env.t, env.mails.mails, 1)
		assert.Equal(env.t, env.Mail.MessageID("invitation", links[1].String()), env.mails.mails[0].MessageID)
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: signer}), "as in workflows of earlier versions")
		assert.Len(env.t, env.mails.mails, 1)
	})
}

// TestInvite_AfterRejectedReinvitation checks that the invitation of the group waits for the email to the signer's
// replacement. The wait ends when the server permanently rejects that email.
func TestInvite_AfterRejectedReinvitation(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sent("ada@example.com")
		signer := e.Signers[0].ID
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Replace(env.act(), signer, models.Replacement{Name: "Bea", Email: "bea@example.com"})
			return err
		})
		group := temporal.InviteInput{EnvelopeInput: in, SignerID: signer}
		require.ErrorContains(env.t, env.Invite(ctx, group), "the link renewal will send the invitation")
		env.mails.reject = "bea@example.com"
		renewal := group
		renewal.LinkID = env.load(in).Signers[0].LinkID
		require.NoError(env.t, env.Invite(ctx, renewal))
		require.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		require.NoError(env.t, env.Invite(ctx, group))
		require.Empty(env.t, env.mails.mails)
	})
}
