package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// sealed signs and completes an envelope with a retention period of one day.
func (f *fixture) sealed(e *models.Envelope) {
	f.t.Helper()
	for i := range e.Signers {
		require.NoError(f.t, f.sign(e, i))
	}
	f.seal(e)
}

func (f *fixture) seal(e *models.Envelope) {
	f.t.Helper()
	require.NoError(f.t, change(f.t.Context(), f, e.ID, func(e *models.Envelope) error {
		for _, v := range e.Fields {
			v.DefaultValue = "prefilled"
		}
		err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Originals()[0].ID, SHA256: e.Originals()[0].SHA256, Size: 9, PageCount: 2, BlobKey: "sealed"}})
		e.SetRetention(1)
		return err
	}))
}

// rows returns the number of rows in a table that meet a condition.
func (f *fixture) rows(query string, args ...any) (n int) {
	f.t.Helper()
	db, err := f.DB()
	require.NoError(f.t, err)
	require.NoError(f.t, db.QueryRowContext(f.t.Context(), "SELECT count(*) FROM "+query, args...).Scan(&n))
	return n
}

// TestPurge_RemovesContents checks that a purge removes entered values, webhook bodies and responses. The envelope,
// the statuses of deliveries, the audit chain and other envelopes remain.
func TestPurge_RemovesContents(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p := newEndpoint(f)
		_, err := s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{WebhookChange: models.WebhookChange{Include: []models.WebhookInclude{models.IncludeValues}}})
		require.NoError(t, err)
		e, other := f.sent(1, nil), f.sent(1, nil)
		f.sealed(e)
		f.sealed(other)
		deliveries, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Envelope: e.ID, Page: 1, Size: 100})
		require.NoError(t, err)
		require.NotEmpty(t, deliveries)
		answered := deliveries[0].ID
		_, err = s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: answered, At: clock.Now(), Status: 200, Body: []byte("thanks for: yes")}, models.DeliveryOutcome{WebhookID: p.hook.ID, Delivered: true})
		require.NoError(t, err)
		const values, bodies, withValues = "field_values WHERE envelope_id = $1", "webhook_events WHERE length(body) > 0 AND envelope_id = $1", "webhook_events WHERE values_body IS NOT NULL AND envelope_id = $1"
		for _, id := range []any{e.ID, other.ID} {
			require.Equal(t, []int{1, 2}, []int{f.rows(values, id), f.rows(withValues, id)})
			require.Positive(t, f.rows(bodies, id))
		}
		kept := f.rows(bodies, other.ID)

		purge := func(e *models.Envelope) error { return e.Purge(f.act()) }
		assert.Equal(t, "retention_not_due", rejectionOf(t, change(ctx, f, e.ID, purge)))
		require.Equal(t, 1, f.rows(values, e.ID))
		clock.Add(25 * time.Hour)
		require.NoError(t, change(ctx, f, e.ID, purge))
		for range 2 {
			assert.Zero(t, f.rows(values, e.ID))
			assert.Zero(t, f.rows(withValues, e.ID))
			assert.Equal(t, 2, f.rows(bodies, e.ID), "the purge event for each document")
			assert.Equal(t, []int{1, 2, kept}, []int{f.rows(values, other.ID), f.rows(withValues, other.ID), f.rows(bodies, other.ID)}, "another envelope's")
			require.NoError(t, change(ctx, f, e.ID, purge))
		}
		purged, _ := f.check(e.ID)
		assert.True(t, purged.Purged())
		assert.Empty(t, purged.Fields[0].DefaultValue)
		stays, _ := f.check(other.ID)
		assert.False(t, stays.Purged())
		assert.Equal(t, "prefilled", stays.Fields[0].DefaultValue)

		d, ev, attempts, err := s.Delivery(ctx, f.app, answered)
		require.NoError(t, err)
		assert.Equal(t, []any{models.DeliveryDelivered, 1, 200}, []any{d.Status, d.Attempts, attempts[0].Status})
		assert.Empty(t, ev.Body)
		assert.Empty(t, attempts[0].Body)
		assert.Equal(t, "payload_purged", rejectionOf(t, errOf(s.Resend(ctx, f.app, answered))))
		// The pending delivery has failed, because it no longer has a body.
		onItsWay := deliveries[1].ID
		assert.Equal(t, models.DeliveryFailed, p.status(onItsWay))
		_, err = s.DeliveryJob(ctx, onItsWay)
		require.ErrorIs(t, err, models.ErrNotFound)
		// The response to the attempt in progress is not stored either.
		_, err = s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: onItsWay, At: clock.Now(), Status: 500, Body: []byte("cannot take: yes")}, models.DeliveryOutcome{WebhookID: p.hook.ID, Last: true})
		require.NoError(t, err)
		_, _, attempts, err = s.Delivery(ctx, f.app, onItsWay)
		require.NoError(t, err)
		require.Len(t, attempts, 1)
		assert.Empty(t, attempts[0].Body)

		// ResendSince resends and counts only deliveries that have a body.
		again, err := s.ResendSince(ctx, f.app, p.hook.ID, time.Time{})
		require.NoError(t, err)
		assert.Equal(t, store.ResendResult{}, *again)
		// The event feed skips deleted events.
		page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Limit: 100})
		require.NoError(t, err)
		told := map[models.EventName]int{}
		for _, ev := range page.Events {
			assert.NotEmpty(t, ev.Body)
			if ev.EnvelopeID == e.ID {
				told[ev.Name]++
			}
		}
		assert.Equal(t, map[models.EventName]int{models.EventDocumentPurged: 2}, told)
	})
}

// TestPurgedBody_IsNotSent checks that a delivery that was resent during the purge of its envelope is pending but has
// nothing to send.
func TestPurgedBody_IsNotSent(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		newEndpoint(f)
		e := f.sent(1, nil)
		f.sealed(e)
		deliveries, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Envelope: e.ID, Page: 1, Size: 100})
		require.NoError(t, err)
		d := deliveries[len(deliveries)-1].ID
		_, err = s.DeliveryJob(ctx, d)
		require.NoError(t, err)
		clock.Add(25 * time.Hour)
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		// Create the state that would result if the purge did not wait for the resend.
		execute(t, s, fmt.Sprintf("UPDATE webhook_deliveries SET status = 'pending' WHERE id = '%s'", d))
		_, err = s.DeliveryJob(ctx, d)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
