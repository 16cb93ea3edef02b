package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// TestCleanup_ArchivesEndedEnvelopes checks that the cleanup archives envelopes that ended long enough ago, if
// archiving is enabled. An envelope that cannot be archived stays in the database, does not delay the others, and is
// retried later.
func TestCleanup_ArchivesEndedEnvelopes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		blobs, err := blob.OpenDir(t.TempDir())
		require.NoError(t, err)
		s.UseArchives(blobs)
		app, _, err := s.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		act := func() models.ActionContext {
			clock.Add(time.Second)
			return models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: newID}
		}
		made := func() *models.Envelope {
			e, err := models.NewEnvelope(act(), models.Envelope{AppID: app.ID, TenantID: "t", CreatedBy: "me"})
			require.NoError(t, err)
			require.NoError(t, s.Create(ctx, e))
			return e
		}
		voided := func() *models.Envelope {
			e := made()
			_, err := s.Change(ctx, app.ID, e.ID, func(e *models.Envelope) error { return e.Void(act(), nil) })
			require.NoError(t, err)
			return e
		}
		broken, first, second, open := voided(), voided(), voided(), made()
		db, err := s.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "UPDATE envelopes SET audit_seq = 7 WHERE id = $1", broken.ID)
		require.NoError(t, err)
		clock.Add(10*24*time.Hour - time.Minute)
		late := voided()

		a := &activities.Activities{Store: s, Blobs: blobs, Now: clock.Now, NewID: newID}
		round := func(want ...activities.RemovedRows) {
			t.Helper()
			done, err := a.Cleanup(ctx)
			require.NoError(t, err)
			var removed []activities.RemovedRows
			for _, r := range done.Removed {
				if r.Kind != string(store.ExpiredEvents) { // events expire before this time
					removed = append(removed, r)
				}
			}
			assert.Equal(t, want, removed)
		}
		archived := func(e *models.Envelope) bool {
			now, log, err := s.EnvelopeWithEvents(ctx, app.ID, e.ID)
			require.NoError(t, err)
			require.NotEmpty(t, log)
			return now.Archived
		}
		round()
		a.ArchiveAfter = 10 * 24 * time.Hour
		clock.Add(2 * time.Minute)
		round(activities.RemovedRows{Kind: "envelopes moved to archives", Rows: 2})
		round()
		for e, want := range map[*models.Envelope]bool{broken: false, first: true, second: true, open: false, late: false} {
			assert.Equal(t, want, archived(e))
		}
		_, err = db.ExecContext(ctx, "UPDATE envelopes SET audit_seq = 2 WHERE id = $1", broken.ID)
		require.NoError(t, err)
		clock.Add(6 * 24 * time.Hour)
		round()
		clock.Add(25 * time.Hour)
		round(activities.RemovedRows{Kind: "envelopes moved to archives", Rows: 1})
		assert.True(t, archived(broken))

		require.NoError(t, s.Restore(ctx, first.ID))
		clock.Add(store.ReleasedArchiveRetention + time.Hour)
		a.ArchiveAfter = 0
		round(activities.RemovedRows{Kind: "files of former archives", Rows: 1})
		files, err := blobs.List(ctx, blob.Archives)
		require.NoError(t, err)
		assert.Len(t, files, 2)
	})
}

// undeletableFiles is a file store that cannot delete files.
type undeletableFiles struct{ blob.Store }

func (undeletableFiles) Delete(context.Context, string) error {
	return errors.New("the object is locked")
}

// TestCleanup_UndeletableFileDelaysNothing checks that a file that cannot be deleted is reported and does not delay
// archiving.
func TestCleanup_UndeletableFileDelaysNothing(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		env.Blobs = undeletableFiles{env.Blobs}
		env.Store.UseArchives(env.Blobs)
		env.ArchiveAfter = 24 * time.Hour
		voided := func() store.EnvelopeRef {
			e, _ := env.sent("a@example.com")
			env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
			return store.EnvelopeRef{AppID: env.app.ID, ID: e.ID}
		}
		restored := voided()
		require.NoError(env.t, env.Store.Archive(ctx, restored))
		require.NoError(env.t, env.Store.Restore(ctx, restored.ID))
		env.clock.Add(store.ReleasedArchiveRetention + time.Hour)
		late := voided()
		env.clock.Add(25 * time.Hour)
		_, err := env.Cleanup(ctx)
		require.ErrorContains(env.t, err, "locked")
		e, err := env.Store.Envelope(ctx, late.AppID, late.ID)
		require.NoError(env.t, err)
		assert.True(env.t, e.Archived)
	})
}
