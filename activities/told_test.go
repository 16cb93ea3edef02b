package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestPeopleWhoWereNeverAskedAreNotToldOfTheEnd: neither are those who ended it.
func TestPeopleWhoWereNeverAskedAreNotToldOfTheEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		told := func() (out []string) {
			h.post.mu.Lock()
			defer h.post.mu.Unlock()
			for _, m := range h.post.mails {
				out = append(out, m.To.Email)
			}
			h.post.mails = nil
			return out
		}
		inTurn := func(i int) int { return 1 + i/2 } // two, and then the third
		people := []string{"a@example.com", "b@example.com", "c@example.com"}

		e, in := h.sentInTurn(inTurn, people...)
		why := "a mistake"
		h.change(e, func(e *models.Envelope) error { return e.Void(h.act(), &why) })
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		assert.Contains(h.t, h.post.mails[0].Text, "Acme cancelled the signing of")
		assert.Contains(h.t, h.post.mails[0].Text, why)
		assert.Equal(h.t, people[:2], told())

		e, in = h.sentInTurn(inTurn, people...)
		h.change(e, func(e *models.Envelope) error {
			l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
			_, err := e.Decline(h.act(), l, &why)
			return err
		})
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		assert.Contains(h.t, h.post.mails[0].Text, "Name declined to sign")
		assert.Equal(h.t, people[1:2], told())

		e, in = h.sentInTurn(inTurn, people...)
		h.clock.Add(31 * 24 * time.Hour)
		h.change(e, func(e *models.Envelope) error { return e.Expire(h.act()) })
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		assert.NotContains(h.t, h.post.mails[0].Text, "cancelled")
		assert.NotContains(h.t, h.post.mails[0].Text, "declined")
		assert.Equal(h.t, people[:2], told())
	})
}

// TestNothingIsSealedOnABrokenChain: what was recorded is not what is there, so
// there is nothing that a seal could vouch for.
func TestNothingIsSealedOnABrokenChain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.signAll(e)
		db, err := h.Store.Pool()
		require.NoError(h.t, err)
		_, err = db.ExecContext(h.t.Context(), "UPDATE envelopes SET audit_head = '"+strings.Repeat("ab", 32)+"' WHERE id = '"+e.ID.String()+"'")
		require.NoError(h.t, err)
		_, err = h.env.ExecuteActivity(h.Seal, in)
		require.ErrorContains(h.t, err, "chain")
		got, err := h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusSealing, got.Status)
		assert.Empty(h.t, got.Sealed())
		assert.Zero(h.t, h.stamp.n, "no file was sealed")
		assert.Equal(h.t, models.SealingChainBroken, h.problem(e.ID))
	})
}

// TestTheFileThatWasUploadedIsSealed: each document's own, by the hash that was recorded.
func TestTheFileThatWasUploadedIsSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.signAll(e)
		h.sealed(in)
		require.NotNil(h.t, h.stamp.last.Original)
		assert.Equal(h.t, emptyHash, h.stamp.last.OriginalSHA256)
		assert.Equal(h.t, e.Originals()[1].ID.String(), h.stamp.last.Document.ID)
		require.Len(h.t, h.stamp.last.Documents, 2)
	})
}

// TestFilesThatFitGoAlong: to the byte, with the mail as with what it says later.
func TestFilesThatFitGoAlong(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		days, ctx := 30, h.t.Context()
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, TenantID: "t", RetentionDays: &days}))
		e, in := h.sent("a@example.com")
		h.signAll(e)
		h.sealed(in)
		e, err := h.Store.Envelope(ctx, h.app.ID, e.ID)
		require.NoError(h.t, err)
		h.AttachmentLimit = e.Sealed()[0].Size + e.Sealed()[1].Size
		plan, err := h.LoadRetention(ctx, in)
		require.NoError(h.t, err)
		assert.Empty(h.t, plan.RemindDays, "everybody has the files")
		h.AttachmentLimit--
		plan, err = h.LoadRetention(ctx, in)
		require.NoError(h.t, err)
		assert.Equal(h.t, []int{14, 7, 1}, plan.RemindDays)
	})
}
