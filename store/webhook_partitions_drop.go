package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"countersign/models"
)

// dropPartitions drops the partitions that are entirely older than the history period. The few rows to retain are moved
// to the default partition in the same transaction.
func (s *WebhookRepository) dropPartitions(ctx context.Context) (dropped []string, err error) {
	start := s.historyStart()
	for _, of := range []struct {
		table partitionedTable
		start time.Time
		drop  func(context.Context, partition, time.Time) ([]string, error)
	}{{deliveryTable, start, s.dropDeliveries}, {eventTable, start.Add(-eventRetentionMargin), s.dropEvents}} {
		there, err := s.partitions(s.db.WithContext(ctx), of.table)
		if err != nil {
			return dropped, err
		}
		for _, p := range there {
			if before(firstID(of.start), p.to) {
				break
			}
			names, err := of.drop(ctx, p, of.start)
			if err != nil && !isUndefinedTable(err) {
				return dropped, fmt.Errorf("%s: %w", p.name, err)
			}
			dropped = append(dropped, names...)
		}
	}
	return dropped, nil
}

// isUndefinedTable reports whether err means that another process has dropped a partition in the meantime.
func isUndefinedTable(err error) bool {
	rejected, ok := errors.AsType[*pgconn.PgError](err)
	return ok && rejected.Code == "42P01"
}

// dropDeliveries drops a partition of deliveries together with the partition of their attempts. It selects the rows to
// retain before it locks any table. Their number cannot increase afterwards, because a settled delivery of that age
// cannot be resent.
func (s *WebhookRepository) dropDeliveries(ctx context.Context, p partition, start time.Time) (dropped []string, err error) {
	var stay []uuid.UUID
	err = s.db.WithContext(ctx).Table(p.name).Where("status = ? OR "+settledAt+" >= ?", models.DeliveryPending, start).Limit(maxRetainedRows+1).Pluck("id", &stay).Error
	if err != nil || len(stay) > maxRetainedRows {
		return nil, err
	}
	err = s.partitionChange(ctx, func(tx *gorm.DB) error {
		dropped = nil
		for _, t := range []partitionedTable{deliveryTable, attemptTable} {
			there, err := s.partitions(tx, t)
			if err != nil {
				return err
			}
			for _, q := range there {
				if q.from == p.from && q.to == p.to {
					if err := dropPartition(tx, t, q, stay); err != nil {
						return err
					}
					dropped = append(dropped, q.name)
				}
			}
		}
		return nil
	})
	return dropped, err
}

// dropEvents drops a partition of events. It retains events that deliveries refer to. It also retains the newest event
// of each app, because readers use its ID as a cursor.
func (s *WebhookRepository) dropEvents(ctx context.Context, p partition, _ time.Time) (dropped []string, err error) {
	db := s.db.WithContext(ctx)
	var stay, newest []uuid.UUID
	err = db.Model(&models.Delivery{}).Distinct("event_id").Where("event_id >= ? AND event_id < ?", p.from, p.to).Limit(maxRetainedRows+1).Pluck("event_id", &stay).Error
	if err != nil || len(stay) > maxRetainedRows {
		return nil, err
	}
	// SQL: the query has a LATERAL join with a partition.
	err = db.Raw(`SELECT newest.id FROM apps AS a CROSS JOIN LATERAL (
			(SELECT id FROM ` + p.name + ` WHERE app_id = a.id AND position IS NOT NULL ORDER BY position DESC LIMIT 1) UNION ALL
			(SELECT id FROM ` + p.name + ` WHERE app_id = a.id AND position IS NULL AND name <> 'ping' ORDER BY seq DESC LIMIT 1)) AS newest`).Scan(&newest).Error
	if err != nil {
		return nil, err
	}
	err = s.partitionChange(ctx, func(tx *gorm.DB) error {
		there, err := s.partitions(tx, eventTable)
		if err != nil || !inPartition(there, p.from) { // already dropped by another process
			return err
		}
		dropped = []string{p.name}
		return dropPartition(tx, eventTable, p, append(stay, newest...))
	})
	return dropped, err
}

// dropPartition detaches a partition from its table and drops it. In between, it reinserts the rows to retain, which
// the table then stores in the default partition.
func dropPartition(tx *gorm.DB, t partitionedTable, p partition, stay []uuid.UUID) error {
	// SQL: the statement detaches a PostgreSQL partition.
	if err := tx.Exec("ALTER TABLE " + t.name + " DETACH PARTITION " + p.name).Error; err != nil {
		return err
	}
	for page := range slices.Chunk(stay, 1000) {
		// SQL: the statement copies rows between tables.
		if err := tx.Exec("INSERT INTO "+t.name+" SELECT * FROM "+p.name+" WHERE "+t.key+" IN ?", page).Error; err != nil {
			return err
		}
	}
	// SQL: the statement drops a detached partition.
	return tx.Exec("DROP TABLE " + p.name).Error
}

// deletedBefore returns the upper limit of the IDs whose rows may be deleted individually when data older than the
// given time has expired. It excludes a month that has only partly expired, because its partition will be dropped.
func (s *WebhookRepository) deletedBefore(db *gorm.DB, t partitionedTable, at time.Time) (uuid.UUID, error) {
	if !s.postgres {
		return uuid.Max, nil
	}
	month, there := t.month(at), false
	// SQL: the query reads the PostgreSQL catalog.
	if err := db.Raw("SELECT to_regclass(?) IS NOT NULL", month.name).Scan(&there).Error; err != nil || !there {
		return uuid.Max, err
	}
	return month.from, nil
}
