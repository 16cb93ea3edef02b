package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestClosing_NotifiesInvitedSigners checks that all invited signers except the one who ended the envelope are
// notified, and that nobody else is notified.
func TestClosing_NotifiesInvitedSigners(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		told := func() (out []string) {
			env.mails.mu.Lock()
			defer env.mails.mu.Unlock()
			for _, m := range env.mails.mails {
				out = append(out, m.To.Email)
			}
			env.mails.mails = nil
			return out
		}
		inTurn := func(i int) int { return 1 + i/2 } // first the first two signers, and then the third
		people := []string{"a@example.com", "b@example.com", "c@example.com"}

		e, in := env.sentInOrder(inTurn, people...)
		why := "a mistake"
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), &why) })
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		assert.Contains(env.t, env.mails.mails[0].Text, "Acme canceled the request to sign")
		assert.Contains(env.t, env.mails.mails[0].Text, why)
		assert.Equal(env.t, people[:2], told())

		e, in = env.sentInOrder(inTurn, people...)
		env.change(e, func(e *models.Envelope) error {
			l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
			_, err := e.Decline(env.act(), l, &why, false)
			return err
		})
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		assert.Contains(env.t, env.mails.mails[0].Text, "Name declined to sign")
		assert.Equal(env.t, people[1:2], told())

		e, in = env.sentInOrder(inTurn, people...)
		env.clock.Add(31 * 24 * time.Hour)
		env.change(e, func(e *models.Envelope) error { return e.Expire(env.act()) })
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		assert.NotContains(env.t, env.mails.mails[0].Text, "cancelled")
		assert.NotContains(env.t, env.mails.mails[0].Text, "declined")
		assert.Equal(env.t, people[:2], told())
	})
}

// TestSeal_BrokenChain checks that nothing is sealed if the audit chain differs from the recorded one.
func TestSeal_BrokenChain(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		db, err := env.Store.DB()
		require.NoError(env.t, err)
		_, err = db.ExecContext(env.t.Context(), "UPDATE envelopes SET audit_head = '"+strings.Repeat("ab", 32)+"' WHERE id = '"+e.ID.String()+"'")
		require.NoError(env.t, err)
		_, err = env.env.ExecuteActivity(env.Seal, in)
		require.ErrorContains(env.t, err, "chain")
		got, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusSealing, got.Status)
		assert.Empty(env.t, got.Sealed())
		assert.Zero(env.t, env.sealer.n, "no file must be sealed")
		assert.Equal(env.t, models.SealingChainBroken, env.problem(e.ID))
	})
}

// TestSeal_UploadedFile checks that each document is sealed from its own file, which is identified by its recorded
// hash.
func TestSeal_UploadedFile(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, _ := env.completed("a@example.com")
		require.NotNil(env.t, env.sealer.last.Original)
		assert.Equal(env.t, emptyHash, env.sealer.last.OriginalSHA256)
		assert.Equal(env.t, e.Originals()[1].ID.String(), env.sealer.last.Document.ID)
		require.Len(env.t, env.sealer.last.Documents, 2)
	})
}

// TestSendCopies_AttachesFilesUpToTheLimit checks that the attachment limit is exact to the byte.
func TestSendCopies_AttachesFilesUpToTheLimit(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, _ := env.retained(30, "a@example.com")
		e, err := env.Store.Envelope(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		env.AttachmentLimit = e.Sealed()[0].Size + e.Sealed()[1].Size
		env.clock.Add(16 * 24 * time.Hour)
		assert.Empty(env.t, env.retentionSteps(), "every recipient has received the files")
		env.AttachmentLimit--
		env.clock.Add(7 * 24 * time.Hour)
		assert.Equal(env.t, []string{"7 days left"}, env.retentionSteps())
	})
}
