package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestSoManyWebhooks: an app cannot take all places for deliveries by
// registering endless endpoints.
func TestSoManyWebhooks(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
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
