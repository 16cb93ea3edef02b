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

// TestDeliveryProblems_AreLate checks that a delivery becomes a problem after five minutes without an attempt, or
// immediately after a failed attempt. A failed delivery is a problem for 30 days.
func TestDeliveryProblems_AreLate(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		clock := kit.NewClock()
		s, err := store.Open(t.Context(), store.Config{URL: kit.MigratedURL(t, kind), BaseURL: "https://sign.example.com", Vault: kit.Vault(t), Now: clock.Now, NewID: clockIDs(clock)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		f := newFixture(t, s, clock)
		p := newEndpoint(f)
		problems := func(tenants ...string) map[uuid.UUID]*models.DeliveryAttempt {
			t.Helper()
			found := make(map[uuid.UUID]*models.DeliveryAttempt)
			for _, d := range must(s.DeliveryProblems(t.Context(), f.app.ID, tenants, 9)) {
				found[d.ID] = d.Last
			}
			return found
		}
		waiting, tried, failed, delivered := p.ping(), p.ping(), p.ping(), p.ping()
		p.attempt(tried, 500, models.DeliveryOutcome{})
		p.attempt(tried, 502, models.DeliveryOutcome{})
		p.attempt(failed, 503, models.DeliveryOutcome{Last: true})
		p.attempt(delivered, 200, models.DeliveryOutcome{})
		begun := clock.Now()
		clock.Add(5 * time.Minute)
		now := problems()
		require.Len(t, now, 2)
		assert.Equal(t, []int{502, 503}, []int{now[tried].Status, now[failed].Status}, "the last attempt")
		clock.Add(time.Microsecond)
		now = problems()
		assert.Len(t, now, 3)
		assert.Contains(t, now, waiting)
		assert.Nil(t, now[waiting])

		clock.Add(begun.AddDate(0, 0, 30).Sub(clock.Now()))
		assert.Contains(t, problems(), failed)
		clock.Add(time.Millisecond)
		now = problems()
		assert.Len(t, now, 2)
		assert.NotContains(t, now, failed)
	})
}
