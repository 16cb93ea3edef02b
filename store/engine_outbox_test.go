package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestOutbox_SchedulesKeysFairly checks that each claim contains rows of all three keys, although one endpoint has far
// more rows than the other keys.
func TestOutbox_SchedulesKeysFairly(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		busy, _, err := s.CreateApp(ctx, "Busy", models.PlanFree, nil)
		require.NoError(t, err)
		hook := func(url string) uuid.UUID {
			sc, err := s.CreateWebhook(ctx, busy.ID, url, []models.EventName{models.EventEnvelopeSent}, "")
			require.NoError(t, err)
			return sc.ID
		}
		const heap, n = 90, 12
		dead, well := hook("https://example.com/dead"), hook("https://example.com/well")
		ping := func(to uuid.UUID) uuid.UUID {
			d, err := s.PingWebhook(ctx, busy.ID, to)
			require.NoError(t, err)
			return d.ID
		}
		for range heap {
			ping(dead)
		}
		late := ping(well)
		e := f.sent(1, nil)

		rows, err := s.ClaimOutbox(ctx, n, time.Minute)
		require.NoError(t, err)
		require.NotEmpty(t, rows)
		require.LessOrEqual(t, len(rows), n)
		keys := map[uuid.UUID]bool{}
		for _, r := range rows {
			keys[r.Key] = true
			require.NoError(t, s.FinishOutbox(ctx, r.Seq))
		}
		assert.True(t, keys[late], "includes the endpoint that responds")
		assert.True(t, keys[e.ID], "includes the envelope of another app")
		assert.Greater(t, len(rows), 2, "includes some rows of the backlog")

		// Concurrent processes lose no rows, and never claim a row twice.
		var (
			mu    sync.Mutex
			taken = map[int64]int{}
			all   errgroup.Group
		)
		for range 4 {
			all.Go(func() error {
				for {
					more, err := s.ClaimOutbox(ctx, n, time.Minute)
					if err != nil || len(more) == 0 {
						return err
					}
					mu.Lock()
					for _, r := range more {
						taken[r.Seq]++
					}
					mu.Unlock()
				}
			})
		}
		require.NoError(t, all.Wait())
		for _, r := range drainLeased(t, s, clock) {
			assert.Equal(t, 1, taken[r.Seq], "row %d", r.Seq)
			delete(taken, r.Seq)
		}
		assert.Empty(t, taken, "every claimed row was in the outbox")
	})
}

// drainLeased removes the rows that others had claimed, after the leases have expired.
func drainLeased(t *testing.T, s *store.Store, clock *kit.Clock) []models.OutboxRow {
	t.Helper()
	clock.Add(2 * time.Minute)
	return drainOutbox(t, s)
}

// TestPostpone_OneRow checks that RetryOutbox postpones a single row, and by at most five minutes.
func TestPostpone_OneRow(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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

// TestOutbox_ReportsPendingRows checks that OutboxDepth returns the number of rows and the age of the oldest, and that
// a row contains its signer and lane.
func TestOutbox_ReportsPendingRows(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		n, age, err := s.OutboxDepth(ctx)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(0), time.Duration(0)}, []any{n, age})
		e := f.sent(2, nil)
		clock.Add(3 * time.Minute)
		require.NoError(t, f.sign(e, 1))
		n, age, err = s.OutboxDepth(ctx)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(2), 3 * time.Minute}, []any{n, age})
		rows := drainOutbox(t, s)
		require.Len(t, rows, 2)
		assert.Nil(t, rows[0].Refs.SignerID)
		assert.Equal(t, e.Signers[1].ID, *rows[1].Refs.SignerID)
		for _, r := range rows {
			assert.Equal(t, []any{f.app.ID, "t", 1, r.Refs.FairnessKey()}, []any{r.Refs.AppID, r.Refs.TenantID, r.Attempts, r.FairnessKey})
			assert.NotEmpty(t, r.FairnessKey)
		}
		require.NoError(t, s.Requeue(ctx, nil))
		assert.Empty(t, drainOutbox(t, s))
		f.awake()
		require.NoError(t, s.Requeue(ctx, []models.OutboxRow{{ID: newID(), Key: e.ID, Kind: models.OutboxStart, Refs: rows[0].Refs, NotBefore: clock.Now(), CreatedAt: clock.Now()}}))
		assert.True(t, f.awake())
		require.Len(t, drainOutbox(t, s), 1)

		// A row can be delayed by at most five minutes. A row with a longer delay is due immediately.
		row := models.OutboxRow{ID: newID(), Key: e.ID, Kind: models.OutboxStart, Refs: rows[0].Refs, NotBefore: clock.Now().Add(5 * time.Minute), CreatedAt: clock.Now()}
		require.NoError(t, s.Requeue(ctx, []models.OutboxRow{row}))
		assert.Empty(t, must(s.ClaimOutbox(ctx, 9, time.Minute)), "the row is due in five minutes")
		clock.Add(-time.Microsecond)
		taken := must(s.ClaimOutbox(ctx, 9, time.Minute))
		require.Len(t, taken, 1, "the clock was set back")
		require.NoError(t, s.RetryOutbox(ctx, taken[0].Seq, time.Hour))
		clock.Add(5*time.Minute - time.Microsecond)
		assert.Empty(t, must(s.ClaimOutbox(ctx, 9, time.Minute)))
		clock.Add(time.Microsecond)
		assert.Len(t, must(s.ClaimOutbox(ctx, 9, time.Minute)), 1)
	})
}

func TestOutbox_DeliversInOrder(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.sent(2, nil)
		require.NoError(t, f.sign(e, 1))
		require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))

		first, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, first, 1, "the next row waits for the one before it")
		assert.Equal(t, models.OutboxStart, first[0].Kind)
		none, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Empty(t, none, "the row is leased")
		clock.Add(2 * time.Minute)
		again, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, again, 1, "an expired lease is taken over")
		assert.Equal(t, first[0].ID, again[0].ID, "with the same request id")
		require.NoError(t, s.RetryOutbox(t.Context(), again[0].Seq, 4*time.Minute))
		clock.Add(3 * time.Minute)
		none, err = s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Empty(t, none)
		clock.Add(time.Hour)
		var kinds []models.OutboxKind
		for _, r := range drainOutbox(t, s) {
			kinds = append(kinds, r.Kind)
		}
		assert.Equal(t, []models.OutboxKind{models.OutboxStart, models.OutboxSigned, models.OutboxVoided}, kinds)
	})
}

// TestOutbox_SurvivesClockSetBack checks that rows written before the clock was set back are still delivered.
func TestOutbox_SurvivesClockSetBack(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		newFixture(t, s, clock).sent(2, nil)
		clock.Add(-time.Hour)
		rows, err := s.ClaimOutbox(t.Context(), 10, time.Minute)
		require.NoError(t, err)
		assert.Len(t, rows, 1)
	})
}
