package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/store"
	"countersign/webhook"
)

// TestEndpointIsSwitchedOff: one that is gone at its first 410, one that only
// fails after five days; the app's contact learns of it once, the queue ends.
func TestEndpointIsSwitchedOff(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		ctx, contact := h.t.Context(), "ops@example.com"
		_, err := h.Store.UpdateApp(ctx, h.app.ID, store.AppChange{Contact: &contact})
		require.NoError(h.t, err)
		hook, err := h.Store.CreateWebhook(ctx, h.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret secret")
		require.NoError(h.t, err)
		h.sent("a@example.com")
		waiting, err := h.Store.PingWebhook(ctx, h.app.ID, hook.ID)
		require.NoError(h.t, err)
		first, err := h.Store.PingWebhook(ctx, h.app.ID, hook.ID)
		require.NoError(h.t, err)
		try := func(d *models.Delivery, res webhook.Result) error {
			h.Webhooks = &endpoint{results: []webhook.Result{res}}
			_, err := h.env.ExecuteActivity(h.Deliver, activities.DeliverInput{DeliveryID: d.ID, Delays: make([]time.Duration, 5), Resend: d.Run})
			return err
		}
		require.Error(h.t, try(first, webhook.Result{Status: 410, Gone: true}))
		w, err := h.Store.Webhook(ctx, h.app.ID, hook.ID)
		require.NoError(h.t, err)
		assert.False(h.t, w.Active)
		assert.Equal(h.t, models.DisabledGone, w.DisabledReason)
		require.Len(h.t, h.post.mails, 1)
		assert.Equal(h.t, contact, h.post.mails[0].To.Email)
		require.NoError(h.t, try(waiting, webhook.Result{Status: 200}), "nothing is left to deliver")
		_, pending, err := h.Store.Deliveries(ctx, store.DeliveryFilter{App: h.app.ID, Status: models.DeliveryPending, Page: 1, Size: 10})
		require.NoError(h.t, err)
		assert.Zero(h.t, pending)

		_, err = h.Store.SetWebhookActive(ctx, h.app.ID, hook.ID, true)
		require.NoError(h.t, err)
		for day := range 6 {
			d, err := h.Store.PingWebhook(ctx, h.app.ID, hook.ID)
			require.NoError(h.t, err, "day %d", day)
			require.Error(h.t, try(d, webhook.Result{Status: 500}))
			h.clock.Add(24 * time.Hour)
		}
		_, err = h.Store.PingWebhook(ctx, h.app.ID, hook.ID)
		require.ErrorContains(h.t, err, "webhook_inactive")
		require.Len(h.t, h.post.mails, 2)
	})
}
