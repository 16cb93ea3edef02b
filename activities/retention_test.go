package activities_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// TestRetentionFromSettingsToPurge: the tenant's setting is applied on completion, recipients who have not downloaded
// are reminded once on each due day, and the files are removed while the record stays.
func TestRetentionFromSettingsToPurge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		days, ctx := 30, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, TenantID: "t", RetentionDays: &days}))
		env.AttachmentLimit = 1             // so that everyone gets links
		env.CopySlots = make(chan struct{}) // none is free: the copies are sent later
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		_, err := env.env.ExecuteActivity(env.Seal, in)
		require.NoError(env.t, err)
		e, err = env.Store.Envelope(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		plan, err := env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, e.CompletedAt.AddDate(0, 0, 30), plan.Until.UTC())
		require.Equal(env.t, []int{14, 7, 1}, plan.RemindDays)
		rows, err := env.Store.ClaimOutbox(ctx, 100, time.Minute)
		require.NoError(env.t, err)
		for len(rows) > 0 && rows[0].Kind != models.OutboxRetention {
			require.NoError(env.t, env.Store.FinishOutbox(ctx, rows[0].Seq))
			rows, err = env.Store.ClaimOutbox(ctx, 100, time.Minute)
			require.NoError(env.t, err)
		}
		require.Len(env.t, rows, 1, "completion starts the retention")

		env.change(e, func(e *models.Envelope) error {
			act := env.act()
			act.Actor = models.SignerActor(e.Signers[0].ID)
			return e.Downloaded(act, e.Signers[0].ID, e.Sealed()[0].ID)
		})
		remind := activities.RemindDeletionInput{EnvelopeInput: in, Days: 14}
		require.NoError(env.t, env.RemindDeletion(ctx, remind))
		require.NoError(env.t, env.RemindDeletion(ctx, remind), "an activity may run again")
		require.Len(env.t, env.mails.mails, 3, "one for each document that somebody has not downloaded yet")
		to := map[string]int{}
		for _, m := range env.mails.mails {
			to[m.To.Email]++
			assert.Contains(env.t, m.Text, "https://example.com/download/")
			assert.Contains(env.t, m.Subject, "14 days")
		}
		assert.Equal(env.t, map[string]int{"a@example.com": 1, "b@example.com": 2}, to)

		require.Error(env.t, env.Purge(ctx, in), "not before the day")
		env.clock.Add(31 * 24 * time.Hour)
		require.NoError(env.t, env.Purge(ctx, in))
		require.NoError(env.t, env.Purge(ctx, in))
		e, err = env.Store.Envelope(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		for _, d := range e.Documents {
			assert.Equal(env.t, models.PurgePurged, d.PurgeStatus)
			_, err := env.Blobs.Open(ctx, d.BlobKey)
			require.ErrorIs(env.t, err, fs.ErrNotExist)
		}
		assert.Equal(env.t, 4, env.events(e, models.EventDocumentPurged))
		log, err := env.Store.AuditEvents(ctx, e)
		require.NoError(env.t, err)
		require.NoError(env.t, models.VerifyChain(log, e.AuditSeq, e.AuditHead), "the audit chain stays whole")
	})
}

// TestNoRemindersForThoseWhoHaveTheFiles: files that were mailed need none.
func TestNoRemindersForThoseWhoHaveTheFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		days, ctx := 30, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &days}))
		e, in := env.sent("a@example.com")
		env.signAll(e)
		_, err := env.env.ExecuteActivity(env.Seal, in)
		require.NoError(env.t, err)
		plan, err := env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.NotNil(env.t, plan.Until)
		require.Empty(env.t, plan.RemindDays)
		require.Equal(env.t, plan.Until.AddDate(0, 0, -14).Add(-time.Hour), *plan.LookAgainAt)

		env.clock.Add(17 * 24 * time.Hour)
		require.NoError(env.t, env.SendCopies(ctx, in))
		plan, err = env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Empty(env.t, plan.RemindDays)
		require.Equal(env.t, plan.Until.AddDate(0, 0, -7).Add(-time.Hour), *plan.LookAgainAt)

		env.clock.Add(plan.LookAgainAt.Add(-5 * time.Second).Sub(env.clock.Now()))
		plan, err = env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, plan.Until.AddDate(0, 0, -1).Add(-time.Hour), *plan.LookAgainAt, "the workflow's clock is ahead")
	})
}

// TestRemindersWhereTheArchiveIsLost: it is unknown who was sent links, and the retention continues.
func TestRemindersWhereTheArchiveIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		days, ctx := 90, env.t.Context()
		env.Store.UseArchives(env.Blobs)
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &days}))
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.sealed(in)
		require.NoError(env.t, env.SendCopies(ctx, in))
		env.clock.Add(60 * 24 * time.Hour)
		require.NoError(env.t, env.Store.Archive(ctx, store.EnvelopeRef{AppID: env.app.ID, ID: e.ID}))
		plan, err := env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Empty(env.t, plan.RemindDays, "everybody has the files")
		files, err := env.Blobs.List(ctx, blob.Archives)
		require.NoError(env.t, err)
		require.Len(env.t, files, 1)
		require.NoError(env.t, env.Blobs.Delete(ctx, files[0]))
		plan, err = env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, []int{14, 7, 1}, plan.RemindDays)
	})
}

// TestRemindersForThoseWhoseMailWasTooLarge: only the recipients who have only links.
func TestRemindersForThoseWhoseMailWasTooLarge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		days, ctx := 30, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &days}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		env.sealed(in)
		env.mails.later = "b@example.com"
		require.Error(env.t, env.SendCopies(ctx, in))
		env.mails.later, env.mails.small = "", true
		require.NoError(env.t, env.SendCopies(ctx, in))
		require.Equal(env.t, []string{"completed a@example.com", "completed b@example.com"}, env.mailedTo())
		plan, err := env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, []int{14, 7, 1}, plan.RemindDays)
		require.Nil(env.t, plan.LookAgainAt)
		require.NoError(env.t, env.RemindDeletion(ctx, activities.RemindDeletionInput{EnvelopeInput: in, Days: 14}))
		require.ElementsMatch(env.t, []string{"deletion a@example.com", "deletion a@example.com", "deletion b@example.com", "deletion b@example.com"}, env.mailedTo(), "one for each document")
	})
}

// TestRemindersWhereTheLimitWasRaised: everybody was sent links, and one recipient got new links after the limit was
// raised so that the files fit. A restarted retention finds that.
func TestRemindersWhereTheLimitWasRaised(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		days, ctx := 30, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &days}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		env.sealed(in)
		limit := env.AttachmentLimit
		env.AttachmentLimit = 1
		require.NoError(env.t, env.SendCopies(ctx, in))
		env.AttachmentLimit = limit
		plan, err := env.LoadRetention(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, []int{14, 7, 1}, plan.RemindDays)
		require.NoError(env.t, env.SendCopiesAgain(ctx, temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, Request: uuid.New()}))
		env.mailedTo()
		require.NoError(env.t, env.RemindDeletion(ctx, activities.RemindDeletionInput{EnvelopeInput: in, Days: 14}))
		require.ElementsMatch(env.t, []string{"deletion a@example.com", "deletion a@example.com", "deletion b@example.com", "deletion b@example.com"}, env.mailedTo())
	})
}

// TestFilesThatAreKeptForEverNeedNoReminder, also where they were sent as links.
func TestFilesThatAreKeptForEverNeedNoReminder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		env.AttachmentLimit = 1 // so that everyone gets links
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.sealed(in)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		plan, err := env.LoadRetention(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.RetentionPlan{RemindDays: []int{}}, plan)
	})
}
