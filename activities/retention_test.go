package activities_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/internal/limit"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// TestRetention_FromSettingsToPurge checks that recipients who have not downloaded the files are reminded on each due
// day, and that the files are deleted at the end of the retention period in the tenant's settings.
func TestRetention_FromSettingsToPurge(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		days, ctx := 30, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, TenantID: "t", RetentionDays: &days}))
		env.AttachmentLimit = 1      // so that all recipients receive links
		env.CopyLimit = limit.New(0) // no capacity, so that SendCopies sends the copies
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		_, err := env.env.ExecuteActivity(env.Seal, in)
		require.NoError(env.t, err)
		e, err = env.Store.Envelope(ctx, env.app.ID, e.ID)
		require.NoError(env.t, err)
		require.Equal(env.t, e.CompletedAt.AddDate(0, 0, 30), e.RetainedUntil().UTC())
		require.Equal(env.t, e.CompletedAt.AddDate(0, 0, 16), e.RetentionDueAt.UTC())
		assert.Empty(env.t, env.retentionSteps(), "nothing is due")

		env.change(e, func(e *models.Envelope) error {
			act := env.act()
			act.Actor = models.SignerActor(e.Signers[0].ID)
			return e.Downloaded(act, e.Signers[0].ID, e.Sealed()[0].ID)
		})
		remind := temporal.DeletionInput{EnvelopeInput: in, Days: 14}
		require.NoError(env.t, env.RemindDeletion(ctx, remind))
		require.NoError(env.t, env.RemindDeletion(ctx, remind), "an activity may run again")
		require.Len(env.t, env.mails.mails, 3, "one email for each document that a recipient has not downloaded")
		to := map[string]int{}
		for _, m := range env.mails.mails {
			to[m.To.Email]++
			assert.Contains(env.t, m.Text, "https://example.com/download/")
			assert.Contains(env.t, m.Subject, "14 days")
		}
		assert.Equal(env.t, map[string]int{"a@example.com": 1, "b@example.com": 2}, to)

		require.Error(env.t, env.Purge(ctx, in), "not before the scheduled day")
		env.clock.Add(31 * 24 * time.Hour)
		assert.Equal(env.t, []string{"purged"}, env.retentionSteps())
		assert.Empty(env.t, env.retentionSteps())
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
		require.NoError(env.t, models.VerifyChain(log, e.AuditSeq, e.AuditHead), "the audit chain stays intact")
	})
}

// retentionSteps performs the due retention steps of one cleanup round, and returns the results.
func (env *fakeEnv) retentionSteps() (steps []string) {
	env.t.Helper()
	env.drainOutbox()
	removed, err := env.RetentionRound(env.t.Context())
	require.NoError(env.t, err)
	for _, row := range env.claimed() {
		if row.Kind == models.OutboxDeletion {
			steps = append(steps, fmt.Sprintf("%d days left", row.Refs.Days))
		}
	}
	for _, r := range removed {
		if r.Kind == "envelopes purged" {
			steps = append(steps, "purged")
		}
	}
	return steps
}

// TestRetentionSteps_DayByDay checks that recipients who have only links are reminded 14 days, 7 days and 1 day before
// the purge.
func TestRetentionSteps_DayByDay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep    int
		links   bool
		linksOn int   // the day after which recipients are sent links, or zero for never
		down    []int // first and last day of an outage
		want    []string
	}{
		"ninety days":          {keep: 90, links: true, want: []string{"76: 14 days left", "83: 7 days left", "89: 1 days left", "90: purged"}},
		"ten days":             {keep: 10, links: true, want: []string{"3: 7 days left", "9: 1 days left", "10: purged"}},
		"one day":              {keep: 1, links: true, want: []string{"1: purged"}},
		"everybody has a copy": {keep: 30, want: []string{"30: purged"}},
		"links later":          {keep: 30, linksOn: 20, want: []string{"23: 7 days left", "29: 1 days left", "30: purged"}},
		"no worker for days":   {keep: 30, links: true, down: []int{15, 25}, want: []string{"25: 5 days left", "29: 1 days left", "30: purged"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(env *fakeEnv) {
				ctx := env.t.Context()
				require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &c.keep}))
				env.completed("a@example.com")
				limit := env.AttachmentLimit
				var got []string
				for day := range c.keep + 3 {
					if len(c.down) == 0 || day < c.down[0] || day >= c.down[1] {
						if env.AttachmentLimit = limit; c.links || c.linksOn > 0 && day > c.linksOn {
							env.AttachmentLimit = 1
						}
						for _, step := range env.retentionSteps() {
							got = append(got, fmt.Sprintf("%d: %s", day, step))
						}
					}
					env.clock.Add(24 * time.Hour)
				}
				assert.Equal(env.t, c.want, got)
			})
		})
	}
}

// brokenDelete is a file store that cannot delete the files of one envelope.
type brokenDelete struct {
	blob.Store

	envelope string
}

func (b brokenDelete) Delete(ctx context.Context, key string) error {
	if strings.Contains(key, b.envelope) {
		return errors.New("read-only file system")
	}
	return b.Store.Delete(ctx, key)
}

// TestRetentionRound_UndeletableFile checks that the purge of an envelope is retried until its files are deleted, and
// that it does not delay other envelopes.
func TestRetentionRound_UndeletableFile(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		days, ctx := 1, env.t.Context()
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, RetentionDays: &days}))
		completed := func() *models.Envelope {
			_, in := env.completed("a@example.com")
			return env.load(in)
		}
		broken, whole := completed(), completed()
		env.clock.Add(25 * time.Hour)
		files := env.Blobs
		env.Blobs = brokenDelete{files, broken.ID.String()}
		removed, err := env.RetentionRound(ctx)
		require.ErrorContains(env.t, err, "read-only file system")
		assert.Equal(env.t, []activities.RemovedRows{{Kind: "envelopes purged", Rows: 1}}, removed)
		_, err = files.Open(ctx, whole.Sealed()[0].BlobKey)
		require.ErrorIs(env.t, err, fs.ErrNotExist)
		assert.Empty(env.t, env.retentionSteps(), "the purge waits for its next attempt")
		env.Blobs = files
		env.clock.Add(time.Hour - time.Second)
		assert.Empty(env.t, env.retentionSteps(), "one hour after the failure")
		env.clock.Add(time.Second)
		assert.Equal(env.t, []string{"purged"}, env.retentionSteps())
		_, err = files.Open(ctx, broken.Sealed()[0].BlobKey)
		require.ErrorIs(env.t, err, fs.ErrNotExist)
	})
}

// TestRemindDeletion_LostArchive checks that the retention period still ends if the service cannot determine which
// recipients received links.
func TestRemindDeletion_LostArchive(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		env.Store.UseArchives(env.Blobs)
		e, in := env.retained(90, "a@example.com")
		require.NoError(env.t, env.SendCopies(ctx, in))
		env.clock.Add(76 * 24 * time.Hour)
		require.NoError(env.t, env.Store.Archive(ctx, store.EnvelopeRef{AppID: env.app.ID, ID: e.ID}))
		require.Empty(env.t, env.retentionSteps(), "everybody has the files")
		files, err := env.Blobs.List(ctx, blob.Archives)
		require.NoError(env.t, err)
		require.Len(env.t, files, 1)
		require.NoError(env.t, env.Blobs.Delete(ctx, files[0]))
		env.clock.Add(7 * 24 * time.Hour)
		require.Equal(env.t, []string{"7 days left"}, env.retentionSteps())
	})
}

// TestRemindDeletion_OnlyLinkRecipients checks that all recipients are reminded if one of them received only links.
func TestRemindDeletion_OnlyLinkRecipients(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.retained(30, "a@example.com", "b@example.com")
		env.mails.deferred = "b@example.com"
		require.Error(env.t, env.SendCopies(ctx, in))
		env.mails.deferred, env.mails.rejectAttachments = "", true
		require.NoError(env.t, env.SendCopies(ctx, in))
		require.Equal(env.t, []string{"completed a@example.com", "completed b@example.com"}, env.mailedTo())
		env.clock.Add(16 * 24 * time.Hour)
		require.Equal(env.t, []string{"14 days left"}, env.retentionSteps())
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 14}))
		require.ElementsMatch(env.t, []string{"deletion a@example.com", "deletion a@example.com", "deletion b@example.com", "deletion b@example.com"}, env.mailedTo(), "one email for each document")
	})
}

// TestRemindDeletion_AfterTheLimitWasRaised checks that the audit trail determines which recipients have only links,
// even if the files no longer exceed the limit.
func TestRemindDeletion_AfterTheLimitWasRaised(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.retained(30, "a@example.com", "b@example.com")
		limit := env.AttachmentLimit
		env.AttachmentLimit = 1
		require.NoError(env.t, env.SendCopies(ctx, in))
		env.AttachmentLimit = limit
		env.clock.Add(16 * 24 * time.Hour)
		require.Equal(env.t, []string{"14 days left"}, env.retentionSteps())
		require.NoError(env.t, env.SendCopiesAgain(ctx, temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, Request: uuid.New()}))
		env.mailedTo()
		require.NoError(env.t, env.RemindDeletion(ctx, temporal.DeletionInput{EnvelopeInput: in, Days: 14}))
		require.ElementsMatch(env.t, []string{"deletion a@example.com", "deletion a@example.com", "deletion b@example.com", "deletion b@example.com"}, env.mailedTo())
	})
}

// TestRemindDeletion_FilesWithoutRetention checks that no reminder is sent for files without a retention period, even
// if they were sent as links.
func TestRemindDeletion_FilesWithoutRetention(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.AttachmentLimit = 1 // so that all recipients receive links
		_, in := env.completed("a@example.com")
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Nil(env.t, env.load(in).RetentionDueAt)
		env.clock.Add(10 * 365 * 24 * time.Hour)
		assert.Empty(env.t, env.retentionSteps())
	})
}

// TestRetentionSteps_EndWithTheRetention checks that an envelope whose files no longer have a retention period is
// neither purged nor examined again.
func TestRetentionSteps_EndWithTheRetention(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.retained(1, "a@example.com")
		env.exec("UPDATE documents SET retention_until = NULL WHERE envelope_id = $1", e.ID)
		env.clock.Add(25 * time.Hour)
		require.NotNil(env.t, env.load(in).RetentionDueAt)
		assert.Empty(env.t, env.retentionSteps())
		assert.Nil(env.t, env.load(in).RetentionDueAt)
	})
}

// TestPurge_RemovesPagesOfEveryFile checks that no page image of an original or sealed document remains after a
// purge.
func TestPurge_RemovesPagesOfEveryFile(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.retained(7, "a@example.com")
		done, err := env.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
		require.NoError(env.t, err)
		pages := 0
		for _, d := range done.Documents {
			for _, level := range []int{models.TextLevel, 2} {
				p := store.PageFile{BlobKey: d.Presented().BlobKey, Profile: 1, Page: 1, Level: level, Appearance: fmt.Sprintf("%064d", level), SHA256: fmt.Sprintf("%064d", 1)}
				f, err := env.Blobs.Temp()
				require.NoError(env.t, err)
				require.NoError(env.t, env.Blobs.Put(ctx, f, p.Key()))
				blob.Discard(f)
				_, err = env.Store.AddPageFile(ctx, p)
				require.NoError(env.t, err)
				pages++
			}
		}
		require.Equal(env.t, 8, pages, "two originals and two sealed documents")
		kept, err := env.Blobs.List(ctx, blob.Pages)
		require.NoError(env.t, err)
		require.Len(env.t, kept, pages)
		env.clock.Add(7 * 24 * time.Hour)
		require.NoError(env.t, env.Purge(ctx, in))
		kept, err = env.Blobs.List(ctx, blob.Pages)
		require.NoError(env.t, err)
		require.Empty(env.t, kept)
		for _, d := range done.Documents {
			p, err := env.Store.PageFile(ctx, d.Presented().BlobKey, 1, 1, 2)
			require.NoError(env.t, err)
			require.Nil(env.t, p)
		}
		require.NoError(env.t, env.Purge(ctx, in), "the activity may be repeated")
	})
}
