package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"countersign/models"
)

const purgeNotice = 2 * time.Hour // a purge is retried after an hour

// lateDeliveriesCounted is the maximum number of late deliveries that are counted. A hanging endpoint can cause any
// number of them.
const lateDeliveriesCounted = 10000

// Lag contains the amounts of overdue work of all apps.
type Lag struct {
	// Overdue is the number of envelopes that are still open minutes after their deadline.
	Overdue int64
	// Sealing is the number of envelopes whose documents are not sealed minutes after the last signature.
	Sealing int64
	// Deliveries is the number of webhook deliveries whose next attempt was due minutes ago, up to 10,000.
	Deliveries int64
	// Purges is the number of envelopes whose files should have been purged hours ago.
	Purges int64
	// Lost is the number of missing workflows that the last run of the reconcile schedule found and started.
	Lost int64
	// Reconciled is the time at which the last run ended, or the zero time before the first run.
	Reconciled time.Time
}

// Lag returns the amounts of overdue work, given the delays before each attempt of a delivery.
func (s *MaintenanceRepository) Lag(ctx context.Context, delays []time.Duration) (lag Lag, err error) {
	now, db := s.now().UTC(), s.db.WithContext(ctx)
	envelopes := func(where string, args ...any) *gorm.DB { return db.Model(&models.Envelope{}).Where(where, args...) }
	// Every query except that for deliveries uses a partial index of unfinished work by due time.
	for _, c := range []struct {
		n     *int64
		query *gorm.DB
	}{
		{&lag.Overdue, envelopes("status IN ('sent', 'in_progress') AND expires_at < ?", now.Add(-expiryNotice))},
		{&lag.Sealing, envelopes(`status = 'sealing' AND NOT EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id AND s.signed_at >= ?)`, now.Add(-sealingNotice))},
		{&lag.Purges, envelopes(`retention_due_at < ? AND EXISTS (SELECT 1 FROM documents AS d WHERE d.envelope_id = envelopes.id AND d.retention_until < ?)`,
			now.Add(purgeNotice), now.Add(-purgeNotice))},
		{&lag.Deliveries, db.Table("(?) AS late", s.lateDeliveries(db, now, delays))},
	} {
		if *c.n, err = count(c.query); err != nil {
			return Lag{}, fmt.Errorf("count overdue work: %w", err)
		}
	}
	run, err := first[reconcileRun](db)
	if run != nil {
		lag.Lost, lag.Reconciled = run.Missing, run.At
	}
	return lag, wrap(err, "read last reconcile run")
}

// lateDeliveries selects pending deliveries whose next attempt is overdue. If the current run has no attempt yet, its
// first attempt is the next one.
func (s *MaintenanceRepository) lateDeliveries(db *gorm.DB, now time.Time, delays []time.Duration) *gorm.DB {
	var initial time.Duration
	if len(delays) > 0 {
		initial = delays[0]
	}
	return db.Model(&models.Delivery{}).Select("id").Where(`status = 'pending' AND (run_attempts = 0 AND created_at < ?
		OR run_attempts > 0 AND NOT EXISTS (SELECT 1 FROM delivery_attempts AS a WHERE a.delivery_id = webhook_deliveries.id AND a.next_at >= ?))`,
		now.Add(-initial-deliveryNotice), now.Add(-deliveryNotice)).Limit(lateDeliveriesCounted)
}

// reconcileRun describes the last run of the reconcile schedule. The table has a single row.
type reconcileRun struct {
	ID      int
	At      time.Time
	Missing int64
}

// RecordReconcile records the number of missing workflows that a run of the reconcile schedule found.
func (s *MaintenanceRepository) RecordReconcile(ctx context.Context, missing int) error {
	// SQL: the statement is an upsert.
	err := s.db.WithContext(ctx).Exec(`INSERT INTO reconcile_runs (id, at, missing) VALUES (1, ?, ?)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at, missing = excluded.missing`, s.now().UTC(), missing).Error
	return wrap(err, "record reconcile run")
}
