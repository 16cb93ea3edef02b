package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ExpiredRows is a kind of rows that are removed after a retention period.
type ExpiredRows string

// The kinds of expired rows, with their names for operators. The audit trail is never removed.
const (
	ExpiredKeys             ExpiredRows = "idempotency keys"
	ExpiredRateWindows      ExpiredRows = "rate windows"
	ExpiredConsoleSessions  ExpiredRows = "console sessions"
	ExpiredChallenges       ExpiredRows = "challenges"
	ExpiredEmbeddedSessions ExpiredRows = "embedded sessions"
	ExpiredBuilderSessions  ExpiredRows = "builder sessions"
	ExpiredDeliveries       ExpiredRows = "deliveries" // including their attempts
	ExpiredEvents           ExpiredRows = "events"
	ExpiredMails            ExpiredRows = "mails"
	ExpiredBulkData         ExpiredRows = "contents of failed bulk rows" // the rows themselves are kept
)

// AllExpiredRows lists the kinds in the order of their removal. Deliveries come before events, because an event is
// kept while a delivery refers to it.
var AllExpiredRows = []ExpiredRows{
	ExpiredKeys, ExpiredRateWindows, ExpiredConsoleSessions, ExpiredChallenges, ExpiredEmbeddedSessions, ExpiredBuilderSessions, ExpiredDeliveries, ExpiredEvents, ExpiredMails,
	ExpiredBulkData,
}

// embeddedSessionRetention is the time for which an embedded session is retained after it has ended.
const embeddedSessionRetention = 30 * 24 * time.Hour

// RemoveExpired removes a batch of expired rows or their contents, oldest first, and returns their number. A number
// below CleanupBatch means that none remain.
func (s *MaintenanceRepository) RemoveExpired(ctx context.Context, rows ExpiredRows) (int, error) {
	db, now := s.db.WithContext(ctx), s.now().UTC()
	var (
		n   int64
		err error
	)
	switch rows {
	case ExpiredKeys:
		n, err = removeBatch(db, "idempotency_keys", "id", now)
	case ExpiredRateWindows:
		n, err = removeBatch(db, "rate_windows", "key, starts_at", now)
	case ExpiredConsoleSessions:
		n, err = removeBatch(db, "console_sessions", "id", now)
	case ExpiredChallenges:
		n, err = removeBatch(db, "console_challenges", "id", now)
	case ExpiredEmbeddedSessions:
		n, err = removeBatch(db, "embedded_sessions", "id", now.Add(-embeddedSessionRetention))
	case ExpiredBuilderSessions:
		n, err = removeBatch(db, "builder_sessions", "id", now)
	case ExpiredDeliveries:
		n, err = s.removeOldDeliveries(ctx)
	case ExpiredEvents:
		n, err = s.webhooks.removeOldEvents(db)
	case ExpiredMails:
		n, err = s.removeOldMails(db)
	case ExpiredBulkData:
		n, err = s.removeOldBulkData(db)
	default:
		return 0, fmt.Errorf("remove expired rows: unknown kind %q", rows)
	}
	if err != nil {
		return 0, fmt.Errorf("remove expired %s: %w", rows, err)
	}
	return int(n), nil
}

// removeBatch deletes rows of a table that expired before the given time. key is the primary key of the table.
func removeBatch(db *gorm.DB, table, key string, before time.Time) (int64, error) {
	// SQL: the statement deletes the rows of a subquery with LIMIT.
	result := db.Exec("DELETE FROM "+table+" WHERE ("+key+") IN (SELECT "+key+" FROM "+table+" WHERE expires_at < ? ORDER BY expires_at LIMIT ?)", before, CleanupBatch)
	return result.RowsAffected, result.Error
}

// removeOldDeliveries deletes deliveries that were settled before the history period, together with their attempts. It
// finds the oldest through the primary key, because IDs begin with the time of creation. Deliveries in a monthly
// partition are deleted with the partition.
func (s *MaintenanceRepository) removeOldDeliveries(ctx context.Context) (int64, error) {
	before := s.webhooks.historyStart()
	var ids []uuid.UUID
	err := s.tx(ctx, func(tx *gorm.DB) error {
		end, err := s.webhooks.deletedBefore(tx, deliveryTable, before)
		if err != nil {
			return err
		}
		err = s.locked(tx).Model(&models.Delivery{}).
			Where("id < ? AND id < ? AND created_at < ? AND status <> ? AND "+settledAt+" < ?", firstID(before), end, before, models.DeliveryPending, before).
			Order("id").Limit(CleanupBatch).Pluck("id", &ids).Error
		if err != nil {
			return err
		}
		if err := tx.Where("delivery_id IN ?", ids).Delete(&models.DeliveryAttempt{}).Error; err != nil {
			return err
		}
		return tx.Where("id IN ?", ids).Delete(&models.Delivery{}).Error
	})
	return int64(len(ids)), err
}

// removeOldMails deletes the email records of ended envelopes. The records of open envelopes prevent duplicates and
// are used to count reminders, so they are kept. The records of an envelope are also kept until its final email has
// been sent to all recipients.
func (s *MaintenanceRepository) removeOldMails(db *gorm.DB) (int64, error) {
	before := s.webhooks.historyStart()
	// SQL: the statement deletes the rows of a subquery with LIMIT.
	result := db.Exec(`DELETE FROM mails WHERE id IN (SELECT m.id FROM mails AS m JOIN envelopes AS e ON e.id = m.envelope_id
		WHERE m.envelope_id < ? AND m.created_at < ? AND e.status IN ?
		AND NOT EXISTS (SELECT 1 FROM mails AS w WHERE w.envelope_id = m.envelope_id AND w.kind IN ('completed', 'closed') AND w.sent_at IS NULL AND w.failed_at IS NULL)
		ORDER BY m.envelope_id LIMIT ?)`, firstID(before), before, endedStatuses, CleanupBatch)
	return result.RowsAffected, result.Error
}

// removeOldBulkData deletes the data (names, addresses and values) of bulk send rows that failed before the history
// period. A row that is being retried has a different status and keeps its data.
func (s *MaintenanceRepository) removeOldBulkData(db *gorm.DB) (int64, error) {
	skip := ""
	if s.postgres { // prevents a deadlock with a retry, which locks many rows
		skip = "FOR UPDATE SKIP LOCKED"
	}
	// SQL: the statement updates the rows of a subquery with LIMIT.
	result := db.Exec(`UPDATE bulk_send_rows SET data = '' WHERE status = 'failed' AND data <> '' AND id IN (
		SELECT id FROM bulk_send_rows WHERE status = 'failed' AND data <> '' AND settled_at < ? ORDER BY settled_at LIMIT ? `+skip+`)`, s.webhooks.historyStart(), CleanupBatch)
	return result.RowsAffected, result.Error
}

// endedStatuses lists the statuses in which emails no longer request an action.
var endedStatuses = []models.Status{models.StatusCompleted, models.StatusDeclined, models.StatusVoided, models.StatusExpired, models.StatusDeleted}
