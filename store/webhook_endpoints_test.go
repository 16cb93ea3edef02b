package store_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestWebhooks_AreLimited checks that an app cannot exhaust the concurrency limit for deliveries by registering many
// endpoints.
func TestWebhooks_AreLimited(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		create := func() (*models.Webhook, error) {
			return s.CreateWebhook(t.Context(), app.ID, "https://example.com/h", []models.EventName{models.EventEnvelopeSent}, "")
		}
		var last *models.Webhook
		for range models.MaxWebhooks {
			last, err = create()
			require.NoError(t, err)
		}
		_, err = create()
		require.ErrorContains(t, err, "too_many_webhooks")
		require.NoError(t, s.DeleteWebhook(t.Context(), app.ID, last.ID))
		_, err = create()
		require.NoError(t, err)
	})
}

// TestDisableEndpoint_ByOneDelivery checks that if many deliveries find that an endpoint is gone, only one of them
// disables it.
func TestDisableEndpoint_ByOneDelivery(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		for range 5 {
			p := newEndpoint(f)
			var ds []uuid.UUID
			for range 8 {
				ds = append(ds, p.ping())
			}
			var switched atomic.Int32
			var all errgroup.Group
			for _, d := range ds {
				all.Go(func() error {
					why, err := s.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d, At: clock.Now(), Status: 410}, models.DeliveryOutcome{WebhookID: p.hook.ID, Gone: true, Last: true})
					if why != "" {
						switched.Add(1)
					}
					return err
				})
			}
			require.NoError(t, all.Wait())
			require.EqualValues(t, 1, switched.Load())
		}
	})
}
