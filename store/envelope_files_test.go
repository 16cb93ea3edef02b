package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestFiles_ReportPurgedContents checks that purged files are reported as such, and only for the requested envelopes.
func TestFiles_ReportPurgedContents(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		kept, purged, other := f.sent(1, nil), f.sent(1, nil), f.sent(1, nil)
		require.NoError(t, f.sign(purged, 0))
		require.NoError(t, change(ctx, f, purged.ID, func(e *models.Envelope) error {
			err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s"}})
			e.SetRetention(1)
			return err
		}))
		clock.Add(25 * time.Hour)
		require.NoError(t, change(ctx, f, purged.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		files, err := s.Files(ctx, []uuid.UUID{kept.ID, purged.ID})
		require.NoError(t, err)
		assert.Equal(t, []store.FileRef{{EnvelopeID: kept.ID, BlobKey: "k"}}, files[kept.ID])
		assert.ElementsMatch(t, []store.FileRef{{EnvelopeID: purged.ID, BlobKey: "k", Purged: true}, {EnvelopeID: purged.ID, BlobKey: "s", Purged: true}}, files[purged.ID])
		assert.NotContains(t, files, other.ID)
	})
}

// TestHasUnmarkedFiles_UntilTheyAreMarked checks that a file without a recorded encryption mark is found, unless the
// file was purged.
func TestHasUnmarkedFiles_UntilTheyAreMarked(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		found := func() bool { return must(s.HasUnmarkedFiles(ctx)) }
		require.False(t, found())
		f.sent(1, nil)
		require.True(t, found())
		db := pool(t, s)
		for _, c := range []struct{ change, undo string }{
			{"UPDATE documents SET encrypted = false", "UPDATE documents SET encrypted = true"},
			{"UPDATE documents SET prepared_key = 'p'", "UPDATE documents SET prepared_encrypted = true"},
			{"UPDATE documents SET encrypted = false", "UPDATE documents SET purge_status = 'purged'"},
		} {
			_, err := db.ExecContext(ctx, c.change)
			require.NoError(t, err)
			require.True(t, found(), c.change)
			_, err = db.ExecContext(ctx, c.undo)
			require.NoError(t, err)
			require.False(t, found(), c.undo)
		}
	})
}
