package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/models"
	"countersign/webhook"
)

// hooked is an endpoint with a way to try to deliver to it.
type hooked struct {
	*house

	hook uuid.UUID
}

func (h *house) hooked() hooked {
	h.t.Helper()
	hook, err := h.Store.CreateWebhook(h.t.Context(), h.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret secret")
	require.NoError(h.t, err)
	return hooked{h, hook.ID}
}

func (h hooked) ping() *models.Delivery {
	h.t.Helper()
	d, err := h.Store.PingWebhook(h.t.Context(), h.app.ID, h.hook)
	require.NoError(h.t, err)
	return d
}

// try makes one attempt; no result means that the endpoint is not to be asked.
func (h hooked) try(d *models.Delivery, run int, delays []time.Duration, results ...webhook.Result) error {
	h.t.Helper()
	asked := &endpoint{results: results}
	h.Webhooks = asked
	_, err := h.env.ExecuteActivity(h.Deliver, activities.DeliverInput{DeliveryID: d.ID, Delays: delays, Resend: run})
	assert.Empty(h.t, asked.results, "the endpoint was asked")
	return err
}

func (h hooked) state(d *models.Delivery) (models.DeliveryStatus, int) {
	h.t.Helper()
	got, _, attempts, err := h.Store.Delivery(h.t.Context(), h.app.ID, d.ID)
	require.NoError(h.t, err)
	require.Len(h.t, attempts, got.Attempts)
	return got.Status, got.Attempts
}

// TestRetryAfterIsHeeded: an endpoint that asks for more time than the schedule
// gives gets it, and one that asks for less gets what the schedule gives.
func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		for _, c := range []struct {
			res  webhook.Result
			want time.Duration
		}{
			{webhook.Result{Status: 429, RetryAfter: time.Hour}, time.Hour},
			{webhook.Result{Status: 503, RetryAfter: time.Second}, time.Minute},
			{webhook.Result{Status: 500}, time.Minute},
			{webhook.Result{Err: errors.New("no answer")}, time.Minute},
		} {
			d := to.ping()
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(h.t, to.try(d, 0, []time.Duration{0, time.Minute}, c.res), &failed)
			assert.False(h.t, failed.NonRetryable())
			assert.Equal(h.t, c.want, failed.NextRetryDelay())
			status, n := to.state(d)
			assert.Equal(h.t, models.DeliveryPending, status)
			assert.Equal(h.t, 1, n)
		}
	})
}

// TestTheLastAttemptSettles: after it, there is no other.
func TestTheLastAttemptSettles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		d := to.ping()
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(h.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 500, RetryAfter: time.Hour}), &failed)
		assert.True(h.t, failed.NonRetryable())
		status, n := to.state(d)
		assert.Equal(h.t, models.DeliveryFailed, status)
		assert.Equal(h.t, 1, n)

		// One attempt more than there are delays: the one before was cut off.
		d = to.ping()
		require.ErrorAs(h.t, to.try(d, 0, nil), &failed)
		assert.True(h.t, failed.NonRetryable())
		_, n = to.state(d)
		assert.Zero(h.t, n)
		require.NoError(h.t, h.AbandonDelivery(h.t.Context(), d.ID))
		status, _ = to.state(d)
		assert.Equal(h.t, models.DeliveryFailed, status)

		d = to.ping()
		require.NoError(h.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 204}))
		require.NoError(h.t, h.AbandonDelivery(h.t.Context(), d.ID))
		status, _ = to.state(d)
		assert.Equal(h.t, models.DeliveryDelivered, status, "what was delivered stays so")
	})
}

// TestWaitingForAPlaceIsNoAttempt: nothing is recorded of it.
func TestWaitingForAPlaceIsNoAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		d := to.ping()
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(h.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Wait: 7 * time.Second}), &failed)
		assert.False(h.t, failed.NonRetryable())
		assert.Equal(h.t, 7*time.Second, failed.NextRetryDelay())
		status, n := to.state(d)
		assert.Equal(h.t, models.DeliveryPending, status)
		assert.Zero(h.t, n)
	})
}

// TestOnlyTheNewestRunDelivers: one that was sent again is another workflow's work.
func TestOnlyTheNewestRunDelivers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		d := to.ping()
		require.Error(h.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 500}))
		again, err := h.Store.Resend(h.t.Context(), h.app.ID, d.ID)
		require.NoError(h.t, err)
		require.Equal(h.t, 1, again.Run)
		require.NoError(h.t, to.try(d, 0, make([]time.Duration, 3)), "the former run asks nobody")
		require.NoError(h.t, to.try(d, 1, make([]time.Duration, 3), webhook.Result{Status: 200}))
		status, n := to.state(d)
		assert.Equal(h.t, models.DeliveryDelivered, status)
		assert.Equal(h.t, 2, n)
	})
}

// TestAttemptsAreCountedFromTheRecord: whatever Temporal counts, the number of an
// attempt follows from those recorded since the delivery was last sent, and an
// attempt of a former run settles nothing of the newest.
func TestAttemptsAreCountedFromTheRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		d := to.ping()
		delays := []time.Duration{0, time.Minute, time.Hour}
		for run := range 2 {
			for n, want := range []time.Duration{time.Minute, time.Hour} {
				var failed *sdktemporal.ApplicationError
				require.ErrorAs(h.t, to.try(d, run, delays, webhook.Result{Status: 500}), &failed)
				assert.Equal(h.t, want, failed.NextRetryDelay())
				_, made := to.state(d)
				assert.Equal(h.t, 3*run+n+1, made)
			}
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(h.t, to.try(d, run, delays, webhook.Result{Status: 500}), &failed)
			assert.True(h.t, failed.NonRetryable())
			status, _ := to.state(d)
			assert.Equal(h.t, models.DeliveryFailed, status)
			_, err := h.Store.Resend(h.t.Context(), h.app.ID, d.ID)
			require.NoError(h.t, err)
		}
		_, err := h.Store.RecordAttempt(h.t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: h.Now(), Status: 500},
			models.DeliveryOutcome{WebhookID: to.hook, Run: 1, Last: true})
		require.NoError(h.t, err)
		status, _ := to.state(d)
		assert.Equal(h.t, models.DeliveryPending, status, "it was sent again meanwhile")
	})
}

// TestUnrecordedAttemptsWait: an attempt that cannot be recorded is made again as
// late as the schedule says, not at once.
func TestUnrecordedAttemptsWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		d := to.ping()
		db, err := h.Store.Pool()
		require.NoError(h.t, err)
		_, err = db.ExecContext(h.t.Context(), "ALTER TABLE delivery_attempts RENAME TO elsewhere")
		require.NoError(h.t, err)
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(h.t, to.try(d, 0, []time.Duration{0, time.Hour}, webhook.Result{Status: 200}), &failed)
		assert.False(h.t, failed.NonRetryable())
		assert.Equal(h.t, time.Hour, failed.NextRetryDelay())
	})
}

// TestASuccessForgivesAnEndpoint: five days are counted from the first failure
// after the last success.
func TestASuccessForgivesAnEndpoint(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		again := func(status int) {
			err := to.try(to.ping(), 0, make([]time.Duration, 1), webhook.Result{Status: status})
			assert.Equal(h.t, status != 200, err != nil)
		}
		state := func() *models.Webhook {
			w, err := h.Store.Webhook(h.t.Context(), h.app.ID, to.hook)
			require.NoError(h.t, err)
			return w
		}
		again(500)
		require.NotNil(h.t, state().FailingSince)
		require.Equal(h.t, "HTTP status 500", state().LastError)
		h.clock.Add(models.DisableAfter - time.Hour)
		again(200)
		require.Nil(h.t, state().FailingSince)
		require.Empty(h.t, state().LastError)
		h.clock.Add(2 * time.Hour)
		again(503)
		require.True(h.t, state().Active, "it has failed for no time at all")
		require.Equal(h.t, h.clock.Now(), state().FailingSince.UTC())
		h.clock.Add(models.DisableAfter - time.Microsecond)
		again(503)
		require.True(h.t, state().Active)
		h.clock.Add(time.Microsecond)
		again(503)
		require.False(h.t, state().Active)
		require.Equal(h.t, models.DisabledFailing, state().DisabledReason)
		require.Empty(h.t, h.post.mails, "the app names nobody to be told")
	})
}

// TestRetriesAreSpread: by up to a tenth of the delay, and never sooner.
func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		to := h.hooked()
		var bounds []int64
		h.Random = func(n int64) int64 { bounds = append(bounds, n); return n - 1 }
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(h.t, to.try(to.ping(), 0, []time.Duration{0, time.Minute}, webhook.Result{Status: 500}), &failed)
		assert.Equal(h.t, time.Minute+6*time.Second-1, failed.NextRetryDelay())
		require.ErrorAs(h.t, to.try(to.ping(), 0, []time.Duration{0, 9}, webhook.Result{Status: 500}), &failed)
		assert.EqualValues(h.t, 9, failed.NextRetryDelay())
		assert.Equal(h.t, []int64{int64(6 * time.Second)}, bounds)
	})
}
