package store_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// clockIDs returns a function that generates version 7 UUIDs with the time of a clock, in ascending order.
func clockIDs(clock *kit.Clock) func() uuid.UUID {
	return func() uuid.UUID {
		id := uuid.Must(uuid.NewV7())
		ms := clock.Now().UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (8 * (5 - i)))
		}
		return id
	}
}

// months returns a PostgreSQL store that generates IDs with the time of its clock.
func months(t *testing.T) (*fixture, *kit.Clock, *sql.DB) {
	t.Helper()
	clock := kit.NewClock()
	s, err := store.Open(t.Context(), store.Config{URL: kit.Postgres(t), BaseURL: "https://sign.example.com", Vault: kit.Vault(t), Now: clock.Now, NewID: clockIDs(clock)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
	db, err := s.DB()
	require.NoError(t, err)
	return newFixture(t, s, clock), clock, db
}

// in returns the number of rows in each partition of a table. The keys are "default", "past", and months such as
// 2026_12.
func in(t *testing.T, db *sql.DB, table string) map[string]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT tableoid::regclass::text, count(*) FROM "+table+" GROUP BY 1")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := make(map[string]int)
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		out[strings.TrimPrefix(name, table+"_")] = n
	}
	require.NoError(t, rows.Err())
	return out
}

// TestPartitions_AreDropped checks that a month of deliveries, attempts and events is dropped once all of it is older
// than the history period. Pending and resent deliveries are retained with their events and attempts, and so is an
// app's newest event, which readers use as a cursor.
func TestPartitions_AreDropped(t *testing.T) {
	t.Parallel()
	f, clock, db := months(t)
	ctx, s := t.Context(), f.Store
	next := store.PeriodStart(clock.Now()).AddDate(0, 1, 0)
	clock.Add(next.Add(24 * time.Hour).Sub(clock.Now()))
	month := next.Format("2006_01")
	act := f.act()
	act.NewID = clockIDs(clock)
	for range 2 {
		require.NoError(t, change(ctx, f, f.sent(1, nil).ID, func(e *models.Envelope) error { return e.Void(act, nil) }))
	}
	p := newEndpoint(f)
	settled, pending, resent := p.ping(), p.ping(), p.ping()
	for _, id := range []uuid.UUID{settled, resent} {
		p.attempt(id, 500, models.DeliveryOutcome{Last: true})
	}
	page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Limit: 100})
	require.NoError(t, err)
	for table, n := range map[string]int{"webhook_deliveries": 3, "delivery_attempts": 2, "webhook_events": 3 + 2} {
		assert.Equal(t, n, in(t, db, table)[month], table)
	}

	end := next.AddDate(0, 1, 0)
	clock.Add(end.Add(history - time.Hour).Sub(clock.Now()))
	_, err = s.Resend(ctx, f.app, settled)
	require.ErrorIs(t, err, models.ErrNotFound, "a row older than the retention period is removed with its month or earlier")
	_, err = db.ExecContext(ctx, "UPDATE webhook_deliveries SET failed_at = $1 WHERE id = $2", clock.Now().Add(-time.Hour), resent)
	require.NoError(t, err)
	_, err = s.Resend(ctx, f.app, resent)
	require.NoError(t, err)
	p.attempt(resent, 200, models.DeliveryOutcome{Run: 1})
	_, dropped, err := s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.NotContains(t, dropped, "webhook_deliveries_"+month)
	require.NoError(t, kit.RemoveExpired(ctx, s))
	assert.Equal(t, map[string]int{month: 3}, in(t, db, "webhook_deliveries"), "rows of a month are removed together")

	clock.Add(2 * time.Hour)
	_, dropped, err = s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"webhook_deliveries_" + month, "delivery_attempts_" + month}, dropped)
	assert.Equal(t, map[string]int{"default": 2}, in(t, db, "webhook_deliveries"))
	assert.Equal(t, map[string]int{"default": 2}, in(t, db, "delivery_attempts"))
	assert.Equal(t, models.DeliveryPending, p.status(pending))
	_, _, attempts, err := s.Delivery(ctx, f.app, resent)
	require.NoError(t, err)
	assert.Len(t, attempts, 2)
	assert.Equal(t, 3+2, in(t, db, "webhook_events")[month], "events are retained for one day longer")

	clock.Add(24 * time.Hour)
	_, dropped, err = s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"webhook_events_" + month}, dropped)
	require.NoError(t, kit.RemoveExpired(ctx, s))
	assert.Equal(t, map[string]int{"default": 3}, in(t, db, "webhook_events"), "two events with deliveries, and the newest event")
	_, err = s.DeliveryJob(ctx, pending)
	require.NoError(t, err, "the delivery can still be sent")
	_, err = s.Events(ctx, store.EventQuery{App: f.app.ID, After: page.Cursor, Limit: 100})
	require.NoError(t, err, "a reader that has read all events continues")
	_, dropped, err = s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.Empty(t, dropped)

	// Rows outside the monthly partitions are deleted individually when they expire.
	clock.Add(history)
	require.NoError(t, kit.RemoveExpired(ctx, s))
	assert.Equal(t, map[string]int{"default": 1}, in(t, db, "webhook_deliveries"), "the pending delivery")
	assert.Empty(t, in(t, db, "delivery_attempts"))
}

// TestPartitions_AreCreatedAhead checks that there are partitions for the current month and the next two. Rows for a
// month without a partition are accepted, and are moved when the partition is created.
func TestPartitions_AreCreatedAhead(t *testing.T) {
	t.Parallel()
	f, clock, db := months(t)
	ctx, s := t.Context(), f.Store
	require.True(t, s.HasPartitions())
	until, err := s.PartitionsUntil(ctx)
	require.NoError(t, err)
	assert.Equal(t, store.PeriodStart(clock.Now()).AddDate(0, 3, 0), until)
	made, _, err := s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.Empty(t, made, "the migration created all partitions")
	missing := "webhook_events" + store.PeriodStart(clock.Now()).AddDate(0, 1, 0).Format("_2006_01")
	_, err = db.ExecContext(ctx, "DROP TABLE "+missing)
	require.NoError(t, err)
	shortest, err := s.PartitionsUntil(ctx)
	require.NoError(t, err)
	assert.Equal(t, store.PeriodStart(clock.Now()).AddDate(0, 1, 0), shortest, "the table with the fewest partitions determines the result")
	made, _, err = s.MaintainPartitions(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{missing}, made, "the following month does not replace it")

	clock.Add(until.Add(time.Hour).Sub(clock.Now()))
	now, err := s.PartitionsUntil(ctx)
	require.NoError(t, err)
	assert.Equal(t, clock.Now(), now, "the current month has no partition")
	p := newEndpoint(f)
	id := p.ping()
	p.attempt(id, 200, models.DeliveryOutcome{})
	for _, table := range []string{"webhook_deliveries", "delivery_attempts", "webhook_events"} {
		assert.Equal(t, map[string]int{"default": 1}, in(t, db, table))
	}
	// Several processes create partitions concurrently.
	results := make(chan []string, 3)
	for range 3 {
		go func() {
			made, _, err := s.MaintainPartitions(ctx)
			assert.NoError(t, err)
			results <- made
		}()
	}
	made = nil
	for range 3 {
		made = append(made, <-results...)
	}
	assert.Len(t, made, 3*3, "each once: %v", made)
	for _, table := range []string{"webhook_deliveries", "delivery_attempts", "webhook_events"} {
		assert.Equal(t, map[string]int{until.Format("2006_01"): 1}, in(t, db, table))
	}
	assert.Equal(t, models.DeliveryDelivered, p.status(id))
}

// TestPartition_ManyRetainedRows_IsKept checks that a month with many rows to retain is not dropped, and that its
// other rows are deleted individually.
func TestPartition_ManyRetainedRows_IsKept(t *testing.T) {
	t.Parallel()
	f, clock, db := months(t)
	ctx, s := t.Context(), f.Store
	p := newEndpoint(f)
	next := store.PeriodStart(clock.Now()).AddDate(0, 1, 0)
	clock.Add(next.Add(24 * time.Hour).Sub(clock.Now()))
	month := next.Format("2006_01")
	settled, pending := p.ping(), p.ping()
	p.attempt(settled, 200, models.DeliveryOutcome{})
	_, err := db.ExecContext(ctx, `INSERT INTO webhook_deliveries (id, app_id, webhook_id, event_id, envelope_id, event, status, created_at)
		SELECT (substr(id::text, 1, 24) || lpad(to_hex(g), 12, '0'))::uuid, app_id, webhook_id, event_id, envelope_id, event, status, created_at
		FROM webhook_deliveries CROSS JOIN generate_series(1, 10001) AS g WHERE id = $1`, pending)
	require.NoError(t, err)
	clock.Add(next.AddDate(0, 2, 0).Add(history).Sub(clock.Now()))
	_, dropped, err := s.MaintainPartitions(ctx)
	require.NoError(t, err)
	for _, table := range []string{"webhook_deliveries_", "delivery_attempts_"} {
		assert.NotContains(t, dropped, table+month)
	}
	require.NoError(t, kit.RemoveExpired(ctx, s))
	assert.Equal(t, map[string]int{month: 10_002}, in(t, db, "webhook_deliveries"))
	assert.Empty(t, in(t, db, "delivery_attempts"))
}
