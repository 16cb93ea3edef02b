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

type endpoint struct {
	*fixture

	hook *models.Webhook
}

func newEndpoint(f *fixture) *endpoint {
	f.t.Helper()
	hook, err := f.CreateWebhook(f.t.Context(), f.app.ID, "https://example.com/hook", models.WebhookEvents, "secret of the hook")
	require.NoError(f.t, err)
	return &endpoint{f, hook}
}

func (p *endpoint) ping() uuid.UUID {
	p.t.Helper()
	d, err := p.PingWebhook(p.t.Context(), p.app.ID, p.hook.ID)
	require.NoError(p.t, err)
	return d.ID
}

func (p *endpoint) attempt(delivery uuid.UUID, status int, o models.DeliveryOutcome) (disabled string) {
	p.t.Helper()
	o.WebhookID, o.Delivered = p.hook.ID, status == 200
	disabled, err := p.RecordAttempt(p.t.Context(), models.DeliveryAttempt{DeliveryID: delivery, At: p.clock.Now(), Status: status}, o)
	require.NoError(p.t, err)
	return disabled
}

func (p *endpoint) status(delivery uuid.UUID) models.DeliveryStatus {
	p.t.Helper()
	d, _, _, err := p.Delivery(p.t.Context(), p.app, delivery)
	require.NoError(p.t, err)
	return d.Status
}

func (p *endpoint) now() *models.Webhook {
	p.t.Helper()
	w, err := p.Webhook(p.t.Context(), p.app.ID, p.hook.ID)
	require.NoError(p.t, err)
	return w
}

func (f *fixture) awake() bool {
	select {
	case <-f.Wake():
		return true
	default:
		return false
	}
}

// TestFailedDeliveries_AreResent checks that an endpoint's failed deliveries that were created since the given time
// become pending in a new run, if resending them is permitted.
func TestFailedDeliveries_AreResent(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p, other := newEndpoint(f), newEndpoint(f)
		last := models.DeliveryOutcome{Last: true}
		early := p.ping()
		p.attempt(early, 500, last)
		clock.Add(time.Minute)
		since := clock.Now()
		failed, delivered, pending, exhausted, others := p.ping(), p.ping(), p.ping(), p.ping(), other.ping()
		p.attempt(failed, 500, last)
		p.attempt(delivered, 200, last)
		p.attempt(exhausted, 500, last)
		other.attempt(others, 500, last)
		db, err := s.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "UPDATE webhook_deliveries SET run = 100 WHERE id = '"+exhausted.String()+"'")
		require.NoError(t, err)
		drainOutbox(t, s)
		f.awake()

		out, err := s.ResendSince(ctx, f.app, p.hook.ID, since)
		require.NoError(t, err)
		assert.Equal(t, &store.ResendResult{Resent: 1}, out)
		assert.True(t, f.awake())
		rows := drainOutbox(t, s)
		require.Len(t, rows, 1)
		assert.Equal(t, []any{failed, models.OutboxDeliver, p.hook.ID, 1, f.app.ID}, []any{rows[0].Key, rows[0].Kind, *rows[0].Refs.WebhookID, rows[0].Refs.Resend, rows[0].Refs.AppID})
		for d, want := range map[uuid.UUID]models.DeliveryStatus{
			early: models.DeliveryFailed, failed: models.DeliveryPending, delivered: models.DeliveryDelivered, pending: models.DeliveryPending, exhausted: models.DeliveryFailed, others: models.DeliveryFailed,
		} {
			assert.Equal(t, want, p.status(d))
		}
		again, _, attempts, err := s.Delivery(ctx, f.app, failed)
		require.NoError(t, err)
		assert.Equal(t, []any{1, 1, 0}, []any{again.Run, again.Attempts, again.RunAttempts})
		assert.Nil(t, again.FailedAt)
		require.Len(t, attempts, 1)
		assert.NotEqual(t, uuid.Nil, attempts[0].ID)
		out, err = s.ResendSince(ctx, f.app, p.hook.ID, since)
		require.NoError(t, err)
		assert.Equal(t, &store.ResendResult{}, out, "no delivery is left to resend")
		assert.Empty(t, drainOutbox(t, s))

		now, err := s.Resend(ctx, f.app, failed)
		require.NoError(t, err, "a pending delivery is attempted now, by a separate run")
		assert.Equal(t, []any{2, models.DeliveryPending}, []any{now.Run, now.Status})
		require.Len(t, drainOutbox(t, s), 1)
		f.awake()
		sent, err := s.Resend(ctx, f.app, delivered)
		require.NoError(t, err)
		assert.Equal(t, []any{1, models.DeliveryPending}, []any{sent.Run, sent.Status})
		assert.True(t, f.awake())
		require.Len(t, drainOutbox(t, s), 1)
		require.NoError(t, s.DeleteWebhook(ctx, f.app.ID, other.hook.ID))
		_, err = s.Resend(ctx, f.app, others)
		assert.Equal(t, "webhook_deleted", rejectionOf(t, err))
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: new(false)})
		require.NoError(t, err)
		_, err = s.ResendSince(ctx, f.app, p.hook.ID, since)
		assert.Equal(t, "webhook_inactive", rejectionOf(t, err))
		_, err = s.PingWebhook(ctx, f.app.ID, p.hook.ID)
		assert.Equal(t, "webhook_inactive", rejectionOf(t, err))
	})
}

// TestFailedDeliveries_AreResentInBatches checks that up to a thousand deliveries are resent at a time, oldest first.
func TestFailedDeliveries_AreResentInBatches(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p := newEndpoint(f)
		first := p.ping()
		p.attempt(first, 500, models.DeliveryOutcome{Last: true})
		db, err := s.DB()
		require.NoError(t, err)
		numbers := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1002)"
		_, err = db.ExecContext(ctx, `INSERT INTO webhook_deliveries (id, app_id, webhook_id, event_id, envelope_id, event, status, created_at, failed_at) `+numbers+`
			SELECT `+map[bool]string{true: "CAST('ffffffff-0000-7000-8000-' || lpad(CAST(i AS text), 12, '0') AS uuid)", false: "'ffffffff-0000-7000-8000-' || printf('%012d', i)"}[isPostgres(ctx, t, s)]+`,
			app_id, webhook_id, event_id, envelope_id, event, status, created_at, failed_at FROM webhook_deliveries CROSS JOIN n WHERE id = '`+first.String()+`'`)
		require.NoError(t, err)
		out, err := s.ResendSince(ctx, f.app, p.hook.ID, clock.Now())
		require.NoError(t, err)
		assert.Equal(t, &store.ResendResult{Resent: 1000, Remaining: 3}, out)
		assert.Equal(t, models.DeliveryPending, p.status(first))
		out, err = s.ResendSince(ctx, f.app, p.hook.ID, clock.Now())
		require.NoError(t, err)
		assert.Equal(t, &store.ResendResult{Resent: 3}, out)
	})
}

// TestDisableEndpoint_FailsItsDeliveriesOnce checks that disabling an endpoint fails its pending deliveries, but
// changes no other endpoints and no settled deliveries.
func TestDisableEndpoint_FailsItsDeliveriesOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p, other := newEndpoint(f), newEndpoint(f)
		one, two, done, others := p.ping(), p.ping(), p.ping(), other.ping()
		p.attempt(done, 200, models.DeliveryOutcome{})
		assert.Nil(t, p.now().FailingSince)
		began := clock.Now()
		assert.Empty(t, p.attempt(one, 500, models.DeliveryOutcome{}))
		assert.Equal(t, []any{began, "HTTP status 500"}, []any{p.now().FailingSince.UTC(), p.now().LastError})
		clock.Add(time.Minute)
		assert.Empty(t, p.attempt(one, 503, models.DeliveryOutcome{}))
		assert.Equal(t, []any{began, "HTTP status 503"}, []any{p.now().FailingSince.UTC(), p.now().LastError})
		assert.Empty(t, p.attempt(one, 503, models.DeliveryOutcome{}))
		assert.Nil(t, other.now().FailingSince)
		assert.Empty(t, other.now().LastError)
		job, err := s.DeliveryJob(ctx, one)
		require.NoError(t, err)
		assert.Equal(t, []any{"https://example.com/hook", began, models.EventPing}, []any{job.URL, job.FailingSince.UTC(), job.Event.Name})
		assert.Equal(t, [][]byte{[]byte("secret of the hook")}, job.Secrets)

		assert.Equal(t, models.DisabledGone, p.attempt(one, 410, models.DeliveryOutcome{Gone: true, Last: true}))
		w := p.now()
		assert.Equal(t, []any{false, models.DisabledGone, clock.Now(), "HTTP status 410"}, []any{w.Active, w.DisabledReason, w.DisabledAt.UTC(), w.LastError})
		assert.Empty(t, p.attempt(two, 410, models.DeliveryOutcome{Gone: true, Last: true}), "once")
		for d, want := range map[uuid.UUID]models.DeliveryStatus{one: models.DeliveryFailed, two: models.DeliveryFailed, done: models.DeliveryDelivered, others: models.DeliveryPending} {
			assert.Equal(t, want, p.status(d))
		}
		assert.True(t, other.now().Active)
		_, err = s.DeliveryJob(ctx, two)
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.DeliveryJob(ctx, others)
		require.NoError(t, err)

		// Resuming resets the failures of this endpoint, and pausing fails its pending deliveries.
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: new(true)})
		require.NoError(t, err)
		w = p.now()
		assert.Equal(t, []any{true, "", ""}, []any{w.Active, w.DisabledReason, w.LastError})
		assert.Nil(t, w.FailingSince)
		three := p.ping()
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: new(true)})
		require.NoError(t, err)
		assert.Equal(t, models.DeliveryPending, p.status(three), "the webhook was already active")
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: new(false)})
		require.NoError(t, err)
		assert.False(t, p.now().Active)
		assert.Equal(t, models.DeliveryFailed, p.status(three))
		assert.Equal(t, models.DeliveryPending, other.status(others))

		// A new address starts without recorded failures.
		other.attempt(others, 500, models.DeliveryOutcome{})
		require.NotNil(t, other.now().FailingSince)
		url := "https://example.com/moved"
		_, err = s.PatchWebhook(ctx, f.app.ID, other.hook.ID, store.WebhookPatch{WebhookChange: models.WebhookChange{URL: &url, Events: []models.EventName{models.EventEnvelopeVoided}}})
		require.NoError(t, err)
		w = other.now()
		assert.Equal(t, []any{url, "", []models.EventName{models.EventEnvelopeVoided}}, []any{w.URL, w.LastError, w.Events})
		assert.Nil(t, w.FailingSince)

		// Abandoning affects only pending deliveries.
		require.NoError(t, s.AbandonDelivery(ctx, done, 0))
		assert.Equal(t, models.DeliveryDelivered, p.status(done))
		require.NoError(t, s.AbandonDelivery(ctx, others, 0))
		assert.Equal(t, models.DeliveryFailed, p.status(others))
		abandoned, _, _, err := s.Delivery(ctx, f.app, others)
		require.NoError(t, err)
		assert.Equal(t, clock.Now(), abandoned.FailedAt.UTC())

		require.NoError(t, s.DeleteWebhook(ctx, f.app.ID, other.hook.ID))
		require.ErrorIs(t, s.DeleteWebhook(ctx, f.app.ID, other.hook.ID), models.ErrNotFound)
		assert.Len(t, must(s.Webhooks(ctx, f.app.ID)), 1)
		// An attempt that ends after its endpoint has been deleted is still recorded.
		assert.Empty(t, other.attempt(others, 500, models.DeliveryOutcome{}))
	})
}

// TestEndpointSecrets_AreRotated checks that deliveries are signed with both the old and the new secret until the end
// of the overlap.
func TestEndpointSecrets_AreRotated(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p := newEndpoint(f)
		d := p.ping()
		secrets := func() (out []string) {
			job, err := s.DeliveryJob(ctx, d)
			require.NoError(t, err)
			for _, v := range job.Secrets {
				out = append(out, string(v))
			}
			return out
		}
		rotate := func(secret string) {
			_, err := s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Secret: new(secret), Overlap: time.Hour})
			require.NoError(t, err)
		}
		rotate("another")
		assert.Equal(t, []string{"another", "secret of the hook"}, secrets())
		clock.Add(time.Minute)
		rotate("another") // repeated because the response was lost
		assert.Equal(t, []string{"another", "secret of the hook"}, secrets())
		clock.Add(59*time.Minute - time.Microsecond)
		assert.Len(t, secrets(), 2)
		clock.Add(time.Microsecond)
		assert.Equal(t, []string{"another"}, secrets(), "a repeated change does not extend the lifetime of the previous secret")
		rotate("another")
		assert.Equal(t, []string{"another"}, secrets(), "a repeated change does not restore the previous secret")
		rotate("") // the client secret is used again
		rotate("")
		got := secrets()
		require.Len(t, got, 2)
		assert.Contains(t, got[0], "cs_")
		assert.Equal(t, "another", got[1])
		client, err := s.AddSecret(ctx, f.app.ID, 2*time.Hour)
		require.NoError(t, err)
		rotate("own") // by now the receiver must know the oldest client secret
		assert.Equal(t, []string{"own", got[0]}, secrets())
		rotate("")
		assert.Equal(t, []string{client, got[0], "own"}, secrets())
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Secret: new("")})
		require.NoError(t, err)
		assert.Equal(t, []string{client, got[0]}, secrets(), "an overlap of zero ends the current secret")
		rotate("own")
		rotate("")
		assert.Contains(t, secrets(), "own")
		db, err := s.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "UPDATE webhooks SET previous_secret = NULL")
		require.NoError(t, err)
		assert.Equal(t, []string{client, got[0]}, secrets())
	})
}

// waitForBlockedStatement returns when a statement in the database waits for a lock.
func waitForBlockedStatement(t *testing.T, s *store.Store) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		err := pool(t, s).QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n > 0
	}, time.Minute, 10*time.Millisecond)
}

// TestRecordAttempt_DuringDisable_DoesNotDeadlock checks that recording a successful attempt does not lock the delivery
// while waiting for the endpoint's lock. Meanwhile, another process marks the endpoint's pending deliveries as failed.
func TestRecordAttempt_DuringDisable_DoesNotDeadlock(t *testing.T) {
	t.Parallel()
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		p, ctx := newEndpoint(newFixture(t, s, clock)), t.Context()
		failed, succeeds := p.ping(), p.ping()
		p.attempt(failed, 500, models.DeliveryOutcome{})
		tx, err := pool(t, s).BeginTx(ctx, nil) // in the same way as disabling the endpoint
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "UPDATE webhooks SET active = false WHERE id = $1", p.hook.ID)
		require.NoError(t, err)
		recorded := make(chan error, 1)
		go func() {
			_, err := s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: succeeds, At: clock.Now(), Status: 200}, models.DeliveryOutcome{WebhookID: p.hook.ID, Delivered: true})
			recorded <- err
		}()
		waitForBlockedStatement(t, s)
		_, switchedOff := tx.ExecContext(ctx, "UPDATE webhook_deliveries SET status = 'failed', failed_at = now() WHERE webhook_id = $1 AND status = 'pending'", p.hook.ID)
		committed := tx.Commit()
		require.NoError(t, <-recorded)
		require.NoError(t, switchedOff)
		require.NoError(t, committed)
		assert.Equal(t, models.DeliveryFailed, p.status(failed))
		assert.Empty(t, p.now().LastError)
	})
}

// TestDelivery_IsOneSnapshot checks that the number of attempts matches the list while attempts are being added.
func TestDelivery_IsOneSnapshot(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		hook, err := s.CreateWebhook(t.Context(), app.ID, "https://example.com/h", []models.EventName{models.EventEnvelopeSent}, "")
		require.NoError(t, err)
		d, err := s.PingWebhook(t.Context(), app.ID, hook.ID)
		require.NoError(t, err)
		whileWriting(t, 40, func(i int) error {
			_, err := s.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: clock(), Status: 500}, models.DeliveryOutcome{WebhookID: hook.ID, Delivered: i == 39})
			return err
		}, func() {
			got, _, log, err := s.Delivery(t.Context(), app, d.ID)
			require.NoError(t, err)
			require.Len(t, log, got.Attempts)
			require.Equal(t, len(log) == 40, got.Status == models.DeliveryDelivered)
		})
		_, _, _, err = s.Delivery(t.Context(), &models.App{ID: uuid.New()}, d.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
