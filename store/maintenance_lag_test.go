package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestLag_CountsOverdueWork checks that work is counted as soon as it becomes overdue.
func TestLag_CountsOverdueWork(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		delays := []time.Duration{time.Minute, time.Hour}
		lag := func() store.Lag {
			got, err := s.Lag(ctx, delays)
			require.NoError(t, err)
			return got
		}
		assert.Equal(t, store.Lag{}, lag(), "a new database")
		require.NoError(t, s.RecordReconcile(ctx, 7))
		clock.Add(time.Minute)
		require.NoError(t, s.RecordReconcile(ctx, 3))
		got := lag()
		assert.Equal(t, int64(3), got.Lost)
		assert.Equal(t, clock.Now(), got.Reconciled.UTC())

		f.completed(time.Time{}, 1)
		clock.Add(24*time.Hour + 2*time.Hour)
		assert.Zero(t, lag().Purges)
		clock.Add(time.Second)
		assert.Equal(t, int64(1), lag().Purges)
		steps, err := s.RetentionSteps(ctx, 9)
		require.NoError(t, err)
		require.Len(t, steps, 1)
		require.NoError(t, s.SetRetentionStep(ctx, steps[0], new(clock.Now().Add(time.Hour)), 0))
		assert.Equal(t, int64(1), lag().Purges, "the delivery failed and waits for its next attempt")

		sealing := f.sent(1, nil)
		require.NoError(t, f.sign(sealing, 0))
		clock.Add(5 * time.Minute)
		assert.Zero(t, lag().Sealing)
		clock.Add(time.Second)
		assert.Equal(t, int64(1), lag().Sealing)

		overdue := f.sent(1, new(3))
		clock.Add(overdue.ExpiresAt.Sub(clock.Now()) + 2*time.Minute)
		assert.Zero(t, lag().Overdue)
		clock.Add(time.Second)
		assert.Equal(t, int64(1), lag().Overdue)

		_, err = s.CreateWebhook(ctx, f.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeVoided}, "secret of the hook")
		require.NoError(t, err)
		require.NoError(t, change(ctx, f, overdue.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		assert.Zero(t, lag().Overdue)
		clock.Add(6 * time.Minute)
		assert.Zero(t, lag().Deliveries)
		clock.Add(time.Second)
		assert.Equal(t, int64(1), lag().Deliveries, "the delivery was never attempted")
		drainOutbox(t, s)
		rows := unfinishedWork(t, s, store.WorkDeliveries)
		require.Len(t, rows, 1)
		for id := range rows {
			_, err := s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: id, At: clock.Now(), Status: 503, NextAt: new(clock.Now().Add(24 * time.Hour))}, models.DeliveryOutcome{})
			require.NoError(t, err)
		}
		assert.Zero(t, lag().Deliveries)
		clock.Add(24*time.Hour + 5*time.Minute)
		assert.Zero(t, lag().Deliveries, "the endpoint requested this delay")
		clock.Add(time.Second)
		assert.Equal(t, int64(1), lag().Deliveries, "the next attempt was due")
	})
}
