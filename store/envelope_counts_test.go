package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func TestCounts_FollowEveryChange(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		for i := range 250 {
			e := draft(t, s, app.ID, fmt.Sprintf("t%d", i%2), fmt.Sprintf("no %d", i))
			if i%5 == 0 {
				void(t, s, e)
			}
		}
		expect := func(tenant string, status models.Status, want int64) {
			t.Helper()
			list, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Tenant: tenant, Status: status, Page: 1, Size: 7})
			require.NoError(t, err)
			require.Equal(t, want, total)
			require.Len(t, list, int(min(want, 7)))
			for i := 1; i < len(list); i++ {
				require.Greater(t, list[i-1].ID.String(), list[i].ID.String(), "newest first")
			}
		}
		for range 3 { // before, during and after compaction
			expect("", "", 250)
			expect("t0", "", 125)
			expect("", models.StatusDraft, 200)
			expect("", models.StatusVoided, 50)
			expect("t1", models.StatusVoided, 25)
			expect("t1", models.StatusInProgress, 0)
			_, err := s.CompactCounts(t.Context())
			require.NoError(t, err)
		}
		list, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Search: "ADA no 24", Page: 1, Size: 20})
		require.NoError(t, err)
		require.EqualValues(t, 11, total) // envelopes 24 and 240 to 249
		require.Len(t, list, 11)
	})
}

// TestCountChanges_AreCompacted checks that reading the counts compacts the changes if there are many.
func TestCountChanges_AreCompacted(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		for n := 1; n <= 200; n++ {
			_, err := pool(t, s).ExecContext(t.Context(),
				"INSERT INTO envelope_count_changes (app_id, tenant_id, status, change) VALUES ('"+f.app.ID.String()+"', 't', 'draft', 1)")
			require.NoError(t, err)
			if n < 199 {
				continue
			}
			for range 2 {
				_, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: f.app.ID, Page: 2, Size: 1000})
				require.NoError(t, err)
				assert.EqualValues(t, n, total)
			}
			assert.Equal(t, map[int]int{199: 199, 200: 0}[n], rowsIn(t, s, "envelope_count_changes"))
		}
	})
}
