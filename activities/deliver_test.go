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

// webhookFixture is a test environment with an endpoint.
type webhookFixture struct {
	*fakeEnv

	hook uuid.UUID
}

func (env *fakeEnv) withWebhook() webhookFixture {
	env.t.Helper()
	hook, err := env.Store.CreateWebhook(env.t.Context(), env.app.ID, "https://example.com/hook", []models.EventName{models.EventEnvelopeSent}, "secret secret")
	require.NoError(env.t, err)
	return webhookFixture{env, hook.ID}
}

func (env webhookFixture) ping() *models.Delivery {
	env.t.Helper()
	d, err := env.Store.PingWebhook(env.t.Context(), env.app.ID, env.hook)
	require.NoError(env.t, err)
	return d
}

// try makes one attempt. If no results are given, the attempt must not contact the endpoint.
func (env webhookFixture) try(d *models.Delivery, run int, delays []time.Duration, results ...webhook.Result) error {
	env.t.Helper()
	asked := &fakeEndpoint{results: results}
	env.Webhooks = asked
	_, err := env.env.ExecuteActivity(env.Deliver, activities.DeliverInput{DeliveryID: d.ID, Delays: delays, Resend: run})
	assert.Empty(env.t, asked.results, "the endpoint was called")
	return err
}

func (env webhookFixture) state(d *models.Delivery) (models.DeliveryStatus, int) {
	env.t.Helper()
	got, _, attempts, err := env.Store.Delivery(env.t.Context(), env.app, d.ID)
	require.NoError(env.t, err)
	require.Len(env.t, attempts, got.Attempts)
	return got.Status, got.Attempts
}

// TestDeliver_RetryAfter checks that an endpoint can request a longer delay than the scheduled one, but not a shorter
// one.
func TestDeliver_RetryAfter(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
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
			require.ErrorAs(env.t, to.try(d, 0, []time.Duration{0, time.Minute}, c.res), &failed)
			assert.False(env.t, failed.NonRetryable())
			assert.Equal(env.t, c.want, failed.NextRetryDelay())
			status, n := to.state(d)
			assert.Equal(env.t, models.DeliveryPending, status)
			assert.Equal(env.t, 1, n)
			_, _, attempts, err := env.Store.Delivery(env.t.Context(), env.app, d.ID)
			require.NoError(env.t, err)
			require.NotNil(env.t, attempts[0].NextAt)
			assert.Equal(env.t, c.want, attempts[0].NextAt.Sub(attempts[0].At), "the time of the next attempt is shown")
		}
	})
}

// TestDeliver_LastAttemptSettles checks that no attempt follows the last one.
func TestDeliver_LastAttemptSettles(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		d := to.ping()
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 500, RetryAfter: time.Hour}), &failed)
		assert.True(env.t, failed.NonRetryable())
		status, n := to.state(d)
		assert.Equal(env.t, models.DeliveryFailed, status)
		assert.Equal(env.t, 1, n)

		// An attempt follows after the last delay, because the previous attempt was interrupted.
		d = to.ping()
		require.ErrorAs(env.t, to.try(d, 0, nil), &failed)
		assert.True(env.t, failed.NonRetryable())
		_, n = to.state(d)
		assert.Zero(env.t, n)
		require.NoError(env.t, env.AbandonDelivery(env.t.Context(), d.ID, 0))
		status, _ = to.state(d)
		assert.Equal(env.t, models.DeliveryFailed, status)

		d = to.ping()
		require.NoError(env.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 204}))
		require.NoError(env.t, env.AbandonDelivery(env.t.Context(), d.ID, 0))
		status, _ = to.state(d)
		assert.Equal(env.t, models.DeliveryDelivered, status, "a delivered event stays delivered")
	})
}

// TestDeliver_DisabledEndpointFails checks that a delivery fails if its endpoint was disabled or deleted while the
// delivery was being created.
func TestDeliver_DisabledEndpointFails(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		for _, gone := range []string{"UPDATE webhooks SET active = false", "DELETE FROM webhooks"} {
			to := env.withWebhook()
			d := to.ping()
			db, err := env.Store.DB()
			require.NoError(env.t, err)
			_, err = db.ExecContext(env.t.Context(), gone)
			require.NoError(env.t, err)
			require.NoError(env.t, to.try(d, 1, make([]time.Duration, 5)))
			status, _ := to.state(d)
			assert.Equal(env.t, models.DeliveryPending, status, "the delivery belongs to another run")
			require.NoError(env.t, to.try(d, 0, make([]time.Duration, 5)))
			status, n := to.state(d)
			assert.Equal(env.t, models.DeliveryFailed, status)
			assert.Zero(env.t, n)
		}
	})
}

// TestDeliver_WaitingForTheLimitIsNoAttempt checks that waiting for the concurrency limit is not recorded as an
// attempt.
func TestDeliver_WaitingForTheLimitIsNoAttempt(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		d := to.ping()
		env.Webhooks = &fakeEndpoint{results: []webhook.Result{{Wait: 7 * time.Second}}}
		result, err := env.Deliver(env.t.Context(), activities.DeliverInput{DeliveryID: d.ID, Delays: make([]time.Duration, 1)})
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.DeliverResult{Wait: 7 * time.Second}, result)
		status, n := to.state(d)
		assert.Equal(env.t, models.DeliveryPending, status)
		assert.Zero(env.t, n)
	})
}

// TestDeliver_OnlyTheNewestRun checks that an earlier run leaves a resent delivery to its new workflow.
func TestDeliver_OnlyTheNewestRun(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		d := to.ping()
		require.Error(env.t, to.try(d, 0, make([]time.Duration, 1), webhook.Result{Status: 500}))
		again, err := env.Store.Resend(env.t.Context(), env.app, d.ID)
		require.NoError(env.t, err)
		require.Equal(env.t, 1, again.Run)
		require.NoError(env.t, to.try(d, 0, make([]time.Duration, 3)), "the previous run does not call the endpoint")
		require.NoError(env.t, env.AbandonDelivery(env.t.Context(), d.ID, 0))
		status, _ := to.state(d)
		assert.Equal(env.t, models.DeliveryPending, status, "the previous run must not end the newest run's delivery")
		require.NoError(env.t, to.try(d, 1, make([]time.Duration, 3), webhook.Result{Status: 200}))
		status, n := to.state(d)
		assert.Equal(env.t, models.DeliveryDelivered, status)
		assert.Equal(env.t, 2, n)
	})
}

// TestDeliver_NumbersAttemptsFromTheRecord checks that the number of an attempt is derived from the recorded attempts
// since the last resend, rather than from Temporal.
func TestDeliver_NumbersAttemptsFromTheRecord(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		d := to.ping()
		delays := []time.Duration{0, time.Minute, time.Hour}
		for run := range 2 {
			for n, want := range []time.Duration{time.Minute, time.Hour} {
				var failed *sdktemporal.ApplicationError
				require.ErrorAs(env.t, to.try(d, run, delays, webhook.Result{Status: 500}), &failed)
				assert.Equal(env.t, want, failed.NextRetryDelay())
				_, made := to.state(d)
				assert.Equal(env.t, 3*run+n+1, made)
			}
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(env.t, to.try(d, run, delays, webhook.Result{Status: 500}), &failed)
			assert.True(env.t, failed.NonRetryable())
			status, _ := to.state(d)
			assert.Equal(env.t, models.DeliveryFailed, status)
			_, err := env.Store.Resend(env.t.Context(), env.app, d.ID)
			require.NoError(env.t, err)
		}
		_, err := env.Store.RecordAttempt(env.t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: env.Now(), Status: 500},
			models.DeliveryOutcome{WebhookID: to.hook, Run: 1, Last: true})
		require.NoError(env.t, err)
		status, _ := to.state(d)
		assert.Equal(env.t, models.DeliveryPending, status, "the event was resent in the meantime")
	})
}

// TestDeliver_UnrecordedAttemptWaits checks that an attempt that cannot be recorded is repeated after the scheduled
// delay rather than immediately.
func TestDeliver_UnrecordedAttemptWaits(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		d := to.ping()
		db, err := env.Store.DB()
		require.NoError(env.t, err)
		_, err = db.ExecContext(env.t.Context(), "ALTER TABLE delivery_attempts RENAME TO elsewhere")
		require.NoError(env.t, err)
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, to.try(d, 0, []time.Duration{0, time.Hour}, webhook.Result{Status: 200}), &failed)
		assert.False(env.t, failed.NonRetryable())
		assert.Equal(env.t, time.Hour, failed.NextRetryDelay())
	})
}

// TestDeliver_SuccessResetsFailures checks that the period of five days begins with the first failure after the last
// success.
func TestDeliver_SuccessResetsFailures(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		again := func(status int) {
			err := to.try(to.ping(), 0, make([]time.Duration, 1), webhook.Result{Status: status})
			assert.Equal(env.t, status != 200, err != nil)
		}
		state := func() *models.Webhook {
			w, err := env.Store.Webhook(env.t.Context(), env.app.ID, to.hook)
			require.NoError(env.t, err)
			return w
		}
		again(500)
		require.NotNil(env.t, state().FailingSince)
		require.Equal(env.t, "HTTP status 500", state().LastError)
		env.clock.Add(models.DisableAfter - time.Hour)
		again(200)
		require.Nil(env.t, state().FailingSince)
		require.Empty(env.t, state().LastError)
		env.clock.Add(2 * time.Hour)
		again(503)
		require.True(env.t, state().Active, "the endpoint has only just begun to fail")
		require.Equal(env.t, env.clock.Now(), state().FailingSince.UTC())
		env.clock.Add(models.DisableAfter - time.Microsecond)
		again(503)
		require.True(env.t, state().Active)
		env.clock.Add(time.Microsecond)
		again(503)
		require.False(env.t, state().Active)
		require.Equal(env.t, models.DisabledFailing, state().DisabledReason)
		require.Empty(env.t, env.mails.mails, "the app has no contact to notify")
	})
}

// TestDeliver_SpreadsRetries checks that random jitter extends the delay before a retry by up to a tenth, and never
// shortens it.
func TestDeliver_SpreadsRetries(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		to := env.withWebhook()
		var bounds []int64
		env.Random = func(n int64) int64 { bounds = append(bounds, n); return n - 1 }
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, to.try(to.ping(), 0, []time.Duration{0, time.Minute}, webhook.Result{Status: 500}), &failed)
		assert.Equal(env.t, time.Minute+6*time.Second-1, failed.NextRetryDelay())
		require.ErrorAs(env.t, to.try(to.ping(), 0, []time.Duration{0, 9}, webhook.Result{Status: 500}), &failed)
		assert.EqualValues(env.t, 9, failed.NextRetryDelay())
		assert.Equal(env.t, []int64{int64(6 * time.Second)}, bounds)
	})
}
