package activities_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
)

// TestRetentionFromSettingsToPurge: the tenant's choice is set on completion,
// whoever has not downloaded is reminded once a day that is due, and the files
// go while the record stays.
func TestRetentionFromSettingsToPurge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		days, ctx := 30, h.t.Context()
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, TenantID: "t", RetentionDays: &days}))
		h.AttachmentLimit = 1 // so that everyone gets links
		e, in := h.sent("a@example.com", "b@example.com")
		h.signAll(e)
		_, err := h.env.ExecuteActivity(h.Seal, in)
		require.NoError(h.t, err)
		e, err = h.Store.Envelope(ctx, h.app.ID, e.ID)
		require.NoError(h.t, err)
		plan, err := h.LoadRetention(ctx, in)
		require.NoError(h.t, err)
		require.Equal(h.t, e.CompletedAt.AddDate(0, 0, 30), plan.Until.UTC())
		require.Equal(h.t, []int{14, 7, 1}, plan.RemindDays)
		rows, err := h.Store.ClaimOutbox(ctx, 100, time.Minute)
		require.NoError(h.t, err)
		for len(rows) > 0 && rows[0].Kind != models.OutboxRetention {
			require.NoError(h.t, h.Store.FinishOutbox(ctx, rows[0].Seq))
			rows, err = h.Store.ClaimOutbox(ctx, 100, time.Minute)
			require.NoError(h.t, err)
		}
		require.Len(h.t, rows, 1, "completion starts the retention")

		h.change(e, func(e *models.Envelope) error {
			act := h.act()
			act.Actor = models.SignerActor(e.Signers[0].ID)
			return e.Downloaded(act, e.Signers[0].ID, e.Sealed()[0].ID)
		})
		remind := activities.RemindDeletionInput{EnvelopeInput: in, Days: 14}
		require.NoError(h.t, h.RemindDeletion(ctx, remind))
		require.NoError(h.t, h.RemindDeletion(ctx, remind), "an activity may run again")
		require.Len(h.t, h.post.mails, 3, "one for each document that somebody has not downloaded yet")
		to := map[string]int{}
		for _, m := range h.post.mails {
			to[m.To.Email]++
			assert.Contains(h.t, m.Text, "https://example.com/download/")
			assert.Contains(h.t, m.Subject, "14 days")
		}
		assert.Equal(h.t, map[string]int{"a@example.com": 1, "b@example.com": 2}, to)

		require.Error(h.t, h.Purge(ctx, in), "not before the day")
		h.clock.Add(31 * 24 * time.Hour)
		require.NoError(h.t, h.Purge(ctx, in))
		require.NoError(h.t, h.Purge(ctx, in))
		e, err = h.Store.Envelope(ctx, h.app.ID, e.ID)
		require.NoError(h.t, err)
		for _, d := range e.Documents {
			assert.Equal(h.t, models.PurgePurged, d.PurgeStatus)
			_, err := h.Blobs.Open(ctx, d.BlobKey)
			require.ErrorIs(h.t, err, fs.ErrNotExist)
		}
		assert.Equal(h.t, 4, h.events(e, models.EventDocumentPurged))
		log, err := h.Store.AuditEvents(ctx, e)
		require.NoError(h.t, err)
		require.NoError(h.t, models.VerifyChain(log, e.AuditSeq, e.AuditHead), "the audit chain stays whole")
	})
}

// TestNoRemindersForThoseWhoHaveTheFiles: files that were mailed need none.
func TestNoRemindersForThoseWhoHaveTheFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		days, ctx := 30, h.t.Context()
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, RetentionDays: &days}))
		e, in := h.sent("a@example.com")
		h.signAll(e)
		_, err := h.env.ExecuteActivity(h.Seal, in)
		require.NoError(h.t, err)
		plan, err := h.LoadRetention(ctx, in)
		require.NoError(h.t, err)
		require.NotNil(h.t, plan.Until)
		require.Empty(h.t, plan.RemindDays)
	})
}
