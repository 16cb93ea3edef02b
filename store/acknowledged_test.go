package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestASessionEndsThoughItsUserIsBusy: being at work keeps it from being idle, and no longer.
func TestASessionEndsThoughItsUserIsBusy(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "A", models.PlanEnterprise, nil)
		require.NoError(t, err)
		user, err := s.CreateUser(ctx, app.ID, "ada@example.com", "Ada", "correct horse", models.RoleViewer)
		require.NoError(t, err)
		const lifetime, idle = 8 * time.Hour, time.Hour
		session, err := s.StartConsoleSession(ctx, user.ID, store.Device{IP: "192.0.2.7"}, lifetime, nil)
		require.NoError(t, err)
		for range 15 {
			clock.Add(lifetime / 16)
			in, err := s.ConsoleSession(ctx, session.ID, idle, true)
			require.NoError(t, err)
			assert.Equal(t, user.ID, in.User.ID)
		}
		rows, _, err := s.ConsoleSessions(ctx, user.ID, idle)
		require.NoError(t, err)
		assert.Len(t, rows, 1)
		clock.Add(lifetime/16 - time.Microsecond)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.NoError(t, err)
		clock.Add(time.Microsecond)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.ErrorIs(t, err, models.ErrNotFound)
		rows, _, err = s.ConsoleSessions(ctx, user.ID, idle)
		require.NoError(t, err)
		assert.Empty(t, rows)

		// One that nobody uses ends sooner.
		session, err = s.StartConsoleSession(ctx, user.ID, store.Device{IP: "192.0.2.7"}, lifetime, nil)
		require.NoError(t, err)
		clock.Add(idle - time.Minute)
		_, err = s.ConsoleSession(ctx, session.ID, idle, false)
		require.NoError(t, err, "who only looks on is signed in, and not at work")
		clock.Add(time.Minute)
		_, err = s.ConsoleSession(ctx, session.ID, idle, true)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// TestAMissingTimestampIsAskedFor: for a document that was sealed without one.
func TestAMissingTimestampIsAskedFor(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f := newFixture(t, s, clock)
		for _, pending := range []bool{false, true} {
			for _, days := range []int{0, 7} {
				e := f.sent(1, nil)
				require.NoError(t, f.sign(e, 0))
				drainOutbox(t, s)
				require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
					err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: pending}})
					e.SetRetention(days)
					return err
				}))
				want := map[models.OutboxKind]bool{}
				if pending {
					want[models.OutboxTimestamp] = true
				}
				if days > 0 {
					want[models.OutboxRetention] = true
				}
				got := map[models.OutboxKind]bool{}
				for _, row := range drainOutbox(t, s) {
					assert.Equal(t, e.ID, row.Key)
					got[row.Kind] = true
				}
				assert.Equal(t, want, got, "pending %v, kept for %d days", pending, days)
			}
		}
	})
}

// TestWhatTookEffectIsNotForgotten: a request that was given back is taken again
// only if it did nothing, or if doing it again is meant.
func TestWhatTookEffectIsNotForgotten(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		r := store.IdempotentRequest{Scope: "x", Method: "POST", Path: "/p", Key: "k", Fingerprint: []byte("f")}
		id, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.NoError(t, s.ReleaseKey(ctx, id, false))
		again, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err, "it had done nothing")
		require.NotEqual(t, id, again)
		_, _, err = s.ForKey(again, nil).CreateApp(ctx, "Made", models.PlanFree, nil)
		require.NoError(t, err)
		require.NoError(t, s.ReleaseKey(ctx, again, false))
		clock.Add(time.Minute)
		_, _, err = s.ClaimKey(ctx, r, time.Hour)
		require.ErrorContains(t, err, "idempotency_interrupted")
		require.NoError(t, s.ReleaseKey(ctx, again, true))
		_, _, err = s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)

		// Who, where, how and under which key: each tells requests apart.
		for _, other := range []store.IdempotentRequest{
			{Scope: "y", Method: "POST", Path: "/p", Key: "k"},
			{Scope: "x", Method: "PUT", Path: "/p", Key: "k"},
			{Scope: "x", Method: "POST", Path: "/q", Key: "k"},
			{Scope: "x", Method: "POST", Path: "/p", Key: "l"},
		} {
			other.Fingerprint = r.Fingerprint
			_, answer, err := s.ClaimKey(ctx, other, time.Hour)
			require.NoError(t, err, "%+v", other)
			require.Nil(t, answer)
		}
	})
}

// TestOneRowIsPutOff: giving a row back puts off no other, and for no longer
// than five minutes.
func TestOneRowIsPutOff(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		one, two := f.sent(1, nil), f.sent(1, nil)
		rows, err := s.ClaimOutbox(ctx, 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		for _, r := range rows {
			if r.Key == one.ID {
				require.NoError(t, s.RetryOutbox(ctx, r.Seq, time.Hour))
			}
		}
		claimed := func() (keys []uuid.UUID) {
			rows, err := s.ClaimOutbox(ctx, 10, time.Second)
			require.NoError(t, err)
			for _, r := range rows {
				keys = append(keys, r.Key)
			}
			return keys
		}
		clock.Add(time.Minute + time.Second)
		assert.Equal(t, []uuid.UUID{two.ID}, claimed())
		clock.Add(4 * time.Minute)
		assert.ElementsMatch(t, []uuid.UUID{one.ID, two.ID}, claimed())
	})
}

// TestFilesTellWhatWasPurged: of the envelopes that are asked for, and no others.
func TestFilesTellWhatWasPurged(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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
