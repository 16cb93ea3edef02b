package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestFairSchedulingBetweenKeys fills the outbox for one endpoint, then for another one
// and with an envelope of another app: each claim takes of all three.
func TestFairSchedulingBetweenKeys(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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
		assert.True(t, keys[late], "the endpoint that answers")
		assert.True(t, keys[e.ID], "the envelope of another app")
		assert.Greater(t, len(rows), 2, "and some of the heap")

		// Several processes at once lose none and take none twice.
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
		assert.Empty(t, taken, "taken, and not there")
	})
}

// drainLeased takes out what others have claimed, once their leases have run out.
func drainLeased(t *testing.T, s *store.Store, clock *testkit.Clock) []models.OutboxRow {
	t.Helper()
	clock.Add(2 * time.Minute)
	return drainOutbox(t, s)
}
