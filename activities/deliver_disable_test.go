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

// TestDeliver_DisablesEndpoint checks that an endpoint is disabled at its first 410 response, or after five days of
// failures.
func TestDeliver_DisablesEndpoint(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, contact := env.t.Context(), "ops@example.com"
		_, err := env.Store.UpdateApp(ctx, env.app.ID, store.AppChange{Contact: &contact})
		require.NoError(env.t, err)
		hook, err := env.Store.CreateWebhook(ctx, env.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret secret")
		require.NoError(env.t, err)
		env.sent("a@example.com")
		waiting, err := env.Store.PingWebhook(ctx, env.app.ID, hook.ID)
		require.NoError(env.t, err)
		first, err := env.Store.PingWebhook(ctx, env.app.ID, hook.ID)
		require.NoError(env.t, err)
		try := func(d *models.Delivery, res webhook.Result) error {
			env.Webhooks = &fakeEndpoint{results: []webhook.Result{res}}
			_, err := env.env.ExecuteActivity(env.Deliver, activities.DeliverInput{DeliveryID: d.ID, Delays: make([]time.Duration, 5), Resend: d.Run})
			return err
		}
		require.Error(env.t, try(first, webhook.Result{Status: 410, Gone: true}))
		w, err := env.Store.Webhook(ctx, env.app.ID, hook.ID)
		require.NoError(env.t, err)
		assert.False(env.t, w.Active)
		assert.Equal(env.t, models.DisabledGone, w.DisabledReason)
		require.Len(env.t, env.mails.mails, 1)
		assert.Equal(env.t, contact, env.mails.mails[0].To.Email)
		require.NoError(env.t, try(waiting, webhook.Result{Status: 200}), "no deliveries remain")
		_, pending, err := env.Store.Deliveries(ctx, store.DeliveryFilter{App: env.app.ID, Status: models.DeliveryPending, Page: 1, Size: 10})
		require.NoError(env.t, err)
		assert.Zero(env.t, pending)

		_, err = env.Store.PatchWebhook(ctx, env.app.ID, hook.ID, store.WebhookPatch{Active: new(true)})
		require.NoError(env.t, err)
		for day := range 6 {
			d, err := env.Store.PingWebhook(ctx, env.app.ID, hook.ID)
			require.NoError(env.t, err, "day %d", day)
			require.Error(env.t, try(d, webhook.Result{Status: 500}))
			env.clock.Add(24 * time.Hour)
		}
		_, err = env.Store.PingWebhook(ctx, env.app.ID, hook.ID)
		require.ErrorContains(env.t, err, "webhook_inactive")
		require.Len(env.t, env.mails.mails, 2)
	})
}
