package models_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestEndpoint_IsDisabledAfterFailures checks that an endpoint is disabled if it is gone or has failed for days, and
// that a single success resets the failures.
func TestEndpoint_IsDisabledAfterFailures(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(after time.Duration, status int) *models.DeliveryAttempt {
		return &models.DeliveryAttempt{At: start.Add(after), Status: status}
	}
	failed, fine := models.DeliveryOutcome{}, models.DeliveryOutcome{Delivered: true}
	w := &models.Webhook{Active: true}
	assert.Empty(t, w.UpdateHealth(at(0, 500), failed))
	assert.Equal(t, start, *w.FailingSince)
	assert.Equal(t, "HTTP status 500", w.LastError)
	assert.Empty(t, w.UpdateHealth(&models.DeliveryAttempt{At: start.Add(models.DisableAfter - 1), Error: "refused"}, failed))
	assert.Equal(t, start, *w.FailingSince, "time of the first failure")
	assert.Equal(t, "refused", w.LastError)
	assert.Empty(t, w.UpdateHealth(at(models.DisableAfter, 200), fine))
	assert.Nil(t, w.FailingSince)
	assert.Empty(t, w.LastError)

	again := models.DisableAfter + time.Hour
	assert.Empty(t, w.UpdateHealth(at(again, 500), failed))
	assert.Equal(t, models.DisabledFailing, w.UpdateHealth(at(again+models.DisableAfter, 500), failed))
	assert.False(t, w.Active)
	assert.Equal(t, start.Add(again+models.DisableAfter), *w.DisabledAt)
	assert.Empty(t, w.UpdateHealth(at(again+2*models.DisableAfter, 500), failed), "the webhook is already disabled")
	require.ErrorContains(t, w.CanDeliver(), "webhook_inactive")

	w.SetActive(true)
	assert.Equal(t, &models.Webhook{Active: true}, w, "the failures are reset")
	assert.Equal(t, models.DisabledGone, w.UpdateHealth(at(0, 410), models.DeliveryOutcome{Gone: true}))
	w.SetActive(false)
	assert.Equal(t, models.DisabledGone, w.DisabledReason, "pausing changes nothing else")
}

// TestNewAddress_ResetsFailures checks that changing the address resets the recorded failures, and that other changes
// do not.
func TestNewAddress_ResetsFailures(t *testing.T) {
	t.Parallel()
	url, at := "https://example.com/a", time.Now()
	w := &models.Webhook{URL: url, Events: []models.EventName{models.EventEnvelopeSent}, FailingSince: &at, LastError: "refused"}
	w.Change(models.WebhookChange{URL: &url})
	assert.Equal(t, "refused", w.LastError, "the address has not changed")
	w.Change(models.WebhookChange{Events: []models.EventName{models.EventEnvelopeVoided}})
	assert.Equal(t, "refused", w.LastError)
	assert.Equal(t, []models.EventName{models.EventEnvelopeVoided}, w.Events)
	other := "https://example.com/b"
	w.Change(models.WebhookChange{URL: &other})
	assert.Equal(t, &models.Webhook{URL: other, Events: []models.EventName{models.EventEnvelopeVoided}}, w)
}

// TestPreviousSecret_SignsUntilItExpires checks that the previous secret is used until immediately before its expiry.
func TestPreviousSecret_SignsUntilItExpires(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := &models.Webhook{Secret: []byte("old")}
	assert.False(t, w.PreviousSigns(at))
	w.RotateSecret(nil, []byte("old"), at)
	assert.Nil(t, w.Secret)
	assert.True(t, w.PreviousSigns(at.Add(-1)))
	assert.False(t, w.PreviousSigns(at))
}

// TestDelivery_Settles checks that a delivery fails with the last attempt of its run, and that any successful attempt
// completes it.
func TestDelivery_Settles(t *testing.T) {
	t.Parallel()
	at := time.Now()
	d := &models.Delivery{Status: models.DeliveryPending}
	record := func(o models.DeliveryOutcome) int {
		a := &models.DeliveryAttempt{At: at}
		d.Record(a, o)
		return a.Number
	}
	w := &models.Webhook{Active: true}
	assert.Equal(t, 1, record(models.DeliveryOutcome{}))
	assert.Equal(t, models.DeliveryPending, d.Status)
	waiting := *d
	require.NoError(t, waiting.Resend(w), "a pending delivery is attempted now")
	assert.Equal(t, []int{1, 0}, []int{waiting.Run, waiting.RunAttempts})
	assert.Equal(t, 2, record(models.DeliveryOutcome{Last: true}))
	assert.Equal(t, models.DeliveryFailed, d.Status)
	assert.Equal(t, at, *d.FailedAt)
	require.ErrorContains(t, d.Resend(nil), "webhook_deleted")
	require.ErrorContains(t, d.Resend(&models.Webhook{}), "webhook_inactive")
	require.NoError(t, d.Resend(w))
	assert.Equal(t, models.DeliveryPending, d.Status)
	assert.Equal(t, 1, d.Run)
	assert.Nil(t, d.FailedAt)
	assert.Equal(t, 3, record(models.DeliveryOutcome{Delivered: true, Last: true}))
	assert.Equal(t, models.DeliveryDelivered, d.Status)
	assert.Equal(t, 4, record(models.DeliveryOutcome{Last: true}), "a late result of an earlier run")
	assert.Equal(t, models.DeliveryDelivered, d.Status)
	d.Run = models.MaxRuns
	require.ErrorContains(t, d.Resend(w), "delivery_exhausted")
}

// TestReceivesValues_OnRequest checks that only an endpoint that requests values receives them, with signatures and on
// completion.
func TestReceivesValues_OnRequest(t *testing.T) {
	t.Parallel()
	asked, plain := &models.Webhook{Include: []models.WebhookInclude{models.IncludeValues}}, &models.Webhook{Include: []models.WebhookInclude{"something"}}
	for _, name := range models.WebhookEvents {
		want := name == models.EventSignerSigned || name == models.EventEnvelopeCompleted
		assert.Equal(t, want, asked.ReceivesValues(name), name)
		assert.False(t, plain.ReceivesValues(name), name)
		assert.False(t, new(models.Webhook).ReceivesValues(name), name)
		ev := &models.WebhookEvent{Name: name, Body: []byte("plain"), ValuesBody: []byte("values")}
		assert.Equal(t, map[bool]string{true: "values", false: "plain"}[want], string(ev.BodyFor(asked)), name)
		assert.Equal(t, "plain", string(ev.BodyFor(plain)), name)
		ev.ValuesBody = nil // created before the endpoint included values
		assert.Equal(t, "plain", string(ev.BodyFor(asked)), name)
	}
}

// TestEndpoint_GetsSubscribedEvents checks that an active endpoint receives the events to which it subscribes, for the
// tenants that its app may access.
func TestEndpoint_GetsSubscribedEvents(t *testing.T) {
	t.Parallel()
	w := &models.Webhook{Active: true, Events: []models.EventName{models.EventEnvelopeSent, models.EventSignerSigned}}
	for _, event := range models.WebhookEvents {
		require.Equal(t, event == models.EventEnvelopeSent || event == models.EventSignerSigned, w.SubscribesTo(event, "t"), event)
	}
	w.Tenants = []string{"a", "b"}
	require.True(t, w.SubscribesTo(models.EventEnvelopeSent, "b"))
	require.False(t, w.SubscribesTo(models.EventEnvelopeSent, "t"))
	w.Active, w.Tenants = false, nil
	require.False(t, w.SubscribesTo(models.EventEnvelopeSent, "t"))
}

// TestWebhooks_AreLimitedToAHundred checks that an app can register up to a hundred endpoints.
func TestWebhooks_AreLimitedToAHundred(t *testing.T) {
	t.Parallel()
	require.NoError(t, models.CheckWebhookLimit(0))
	require.NoError(t, models.CheckWebhookLimit(models.MaxWebhooks-1))
	for _, n := range []int64{models.MaxWebhooks, models.MaxWebhooks + 1} {
		assert.Equal(t, "too_many_webhooks", code(t, models.CheckWebhookLimit(n)))
	}
}

// TestPreviousSecretWithoutExpiry_DoesNotSign checks that a previous secret without an expiry is not used.
func TestPreviousSecretWithoutExpiry_DoesNotSign(t *testing.T) {
	t.Parallel()
	w := &models.Webhook{PreviousSecret: []byte("old")}
	assert.False(t, w.PreviousSigns(start))
}
