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

func (f *fixture) completed(timestampedUntil time.Time, days int) *models.Envelope {
	f.t.Helper()
	e := f.sent(1, nil)
	require.NoError(f.t, f.sign(e, 0))
	require.NoError(f.t, change(f.t.Context(), f, e.ID, func(e *models.Envelope) error {
		err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "sealed " + e.ID.String(), TimestampedUntil: timestampedUntil}})
		e.SetRetention(days)
		return err
	}))
	return e
}

// TestOperatorLists checks that rows of all apps are listed in ID order, page by page.
func TestOperatorLists(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		ids := func(refs []store.EnvelopeRef, err error) (out []uuid.UUID) {
			require.NoError(t, err)
			for _, r := range refs {
				out = append(out, r.ID)
			}
			return out
		}
		pages := func(list func(after uuid.UUID) ([]store.EnvelopeRef, error)) (out []uuid.UUID) {
			for after := uuid.Nil; ; {
				page := ids(list(after))
				if len(page) == 0 {
					return out
				}
				require.Len(t, page, 1)
				out, after = append(out, page[0]), page[0]
			}
		}
		now := clock.Now()
		open, foreign := f.sent(1, nil), other.sent(1, nil)
		unstamped, early, late := f.completed(time.Time{}, 0), f.completed(now.Add(time.Hour), 0), other.completed(now.Add(2*time.Hour), 0)
		purged := f.completed(time.Time{}, 1)
		clock.Add(24 * time.Hour)
		require.NoError(t, change(ctx, f, purged.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		assert.ElementsMatch(t, []uuid.UUID{open.ID, foreign.ID, unstamped.ID, early.ID, late.ID, purged.ID},
			pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) { return s.AllEnvelopes(ctx, after, 1) }))
		assert.ElementsMatch(t, []uuid.UUID{open.ID, foreign.ID},
			pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) {
				return s.AllEnvelopes(ctx, after, 1, models.StatusInProgress)
			}))
		assert.Empty(t, ids(s.AllEnvelopes(ctx, uuid.Nil, 9, models.StatusDraft)))
		for at, want := range map[time.Time][]uuid.UUID{
			now.Add(time.Hour): {unstamped.ID}, now.Add(time.Hour + time.Microsecond): {unstamped.ID, early.ID}, now.Add(3 * time.Hour): {unstamped.ID, early.ID, late.ID},
		} {
			assert.ElementsMatch(t, want, pages(func(after uuid.UUID) ([]store.EnvelopeRef, error) {
				return s.EnvelopesDueForTimestamp(ctx, at, after, 1)
			}))
		}
		found, err := s.FindEnvelope(ctx, foreign.ID)
		require.NoError(t, err)
		assert.Equal(t, store.EnvelopeRef{ID: foreign.ID, AppID: other.app.ID}, found)
		_, err = s.FindEnvelope(ctx, uuid.New())
		require.ErrorIs(t, err, models.ErrNotFound)

		// Only existing files can be due.
		drainOutbox(t, s)
		kept := f.completed(time.Time{}, 7)
		drainOutbox(t, s)
		anchors, err := s.AnchorFiles(ctx, []string{"sealed " + kept.ID.String()})
		require.NoError(t, err)
		assert.Empty(t, anchors)
	})
}

// TestSealingProblems_AreListed checks that the sealing problems of envelopes that are being sealed are listed, oldest
// first.
func TestSealingProblems_AreListed(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		stuck := func() *models.Envelope {
			e := f.sent(1, nil)
			require.NoError(t, f.sign(e, 0))
			clock.Add(time.Minute)
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.SealingFailed(f.act(), models.SealingRejected) }))
			return e
		}
		sealing := f.sent(1, nil)
		require.NoError(t, f.sign(sealing, 0))
		first, voided, second := stuck(), stuck(), stuck()
		require.NoError(t, change(ctx, f, voided.ID, func(e *models.Envelope) error { return e.VoidStuck(f.act(), "lost") }))
		list, err := s.UnsealedEnvelopes(ctx, 9)
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, []uuid.UUID{first.ID, second.ID}, []uuid.UUID{list[0].ID, list[1].ID})
		assert.Equal(t, models.SealingRejected, list[0].SealingProblem)
		assert.Len(t, must(s.UnsealedEnvelopes(ctx, 1)), 1)
		assert.EqualValues(t, 2, must(s.CountUnsealed(ctx)))
	})
}

// TestDueEnvelopes checks that open envelopes whose deadline is before a given time are listed, earliest deadline
// first.
func TestDueEnvelopes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		sent := func(days int) *models.Envelope { return f.sent(1, &days) }
		late, soon, ended := sent(3), sent(1), sent(1)
		sent(9)
		void(t, s, ended)
		list, err := s.DueEnvelopes(ctx, clock.Now().AddDate(0, 0, 4), 9)
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, []uuid.UUID{soon.ID, late.ID}, []uuid.UUID{list[0].ID, list[1].ID})
		assert.Equal(t, f.app.ID, list[0].AppID)
		assert.WithinDuration(t, clock.Now().AddDate(0, 0, 1), list[0].ExpiresAt, time.Minute)
		assert.Len(t, must(s.DueEnvelopes(ctx, clock.Now().AddDate(0, 0, 4), 1)), 1)
	})
}
