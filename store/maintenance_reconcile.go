package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Work is a kind of unfinished work that requires a workflow.
type Work string

// The kinds of unfinished work, with their names for operators.
const (
	WorkEnvelopes  Work = "envelopes"  // open, or being sealed
	WorkClosings   Work = "closings"   // ended envelopes with recipients who have not been notified
	WorkTimestamps Work = "timestamps" // sealed files that lack a required time-stamp
	WorkDeliveries Work = "deliveries" // webhook deliveries that are not settled
	WorkBulkSends  Work = "bulk_sends" // bulk sends that have not ended
	WorkCopies     Work = "copies"     // requested copies, reminders and notifications with unsettled emails
)

// AllWork lists the kinds in the order in which they are reconciled.
var AllWork = []Work{WorkEnvelopes, WorkClosings, WorkTimestamps, WorkDeliveries, WorkBulkSends, WorkCopies}

// closingsExamined is the number of envelopes that Unfinished examines for each closing on a page. No index exists for
// finding the few envelopes with unfinished closings.
const closingsExamined = 10

// Unfinished returns a page of unfinished work of a kind, and the ID after which the next page begins, or uuid.Nil
// after the last page. Each item of work is represented by the outbox row that starts its workflow. The page contains
// up to n items, ordered by models.OutboxRow.ListedBy. Work that already has a row in the outbox is omitted, because
// the dispatcher will start its workflow.
func (s *MaintenanceRepository) Unfinished(ctx context.Context, work Work, after uuid.UUID, n int) (rows []models.OutboxRow, next uuid.UUID, err error) {
	db := s.db.WithContext(ctx)
	// With Restart, Temporal starts the workflow even if an earlier run has completed, because the database is
	// authoritative.
	restart := func(kind models.OutboxKind) func(e *models.Envelope) models.OutboxRow {
		return func(e *models.Envelope) models.OutboxRow {
			return s.outboxRow(s.now(), e.ID, kind, models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID, Restart: true})
		}
	}
	envelopes := db.Select("id, app_id, tenant_id")
	switch work {
	case WorkEnvelopes:
		rows, err = unfinished(envelopes.Where("status IN "+openOrSealing), after, n, restart(models.OutboxStart))
	case WorkClosings:
		return s.closings(ctx, after, n, restart(models.OutboxStart))
	case WorkTimestamps:
		rows, err = unfinished(envelopes.Where(`status = ? AND EXISTS (SELECT 1 FROM documents AS d
			WHERE d.envelope_id = envelopes.id AND d.timestamp_pending AND d.purge_status = ?)`,
			models.StatusCompleted, models.PurgeActive), after, n, restart(models.OutboxTimestamp))
	case WorkDeliveries:
		rows, err = unfinished(db.Where("status = 'pending'"), after, n, func(d *models.Delivery) models.OutboxRow { return s.webhooks.deliveryRow(s.now(), d) })
	case WorkBulkSends:
		rows, err = unfinished(db.Where("status IN ?", []models.BulkStatus{models.BulkQueued, models.BulkRunning, models.BulkPaused}), after, n, s.bulk.bulkRow)
	case WorkCopies:
		rows, err = s.unsentRequests(db, after, n)
	default:
		err = fmt.Errorf("unknown kind of work %q", work)
	}
	if len(rows) == n {
		next = rows[n-1].ListedBy()
	}
	return rows, next, wrap(err, "list unfinished %s", work)
}

// openOrSealing lists the statuses of the partial index envelopes_unfinished.
const openOrSealing = "('sent', 'in_progress', 'sealing')"

// closings returns the unfinished closings among the next envelopes in ID order. It examines a limited number of
// envelopes, so that the cost of a page does not depend on the number of closings.
func (s *MaintenanceRepository) closings(ctx context.Context, after uuid.UUID, n int, row func(*models.Envelope) models.OutboxRow) ([]models.OutboxRow, uuid.UUID, error) {
	began := s.webhooks.historyStart() // earlier email records are deleted
	db := s.db.WithContext(ctx)
	end, err := first[models.Envelope](db.Select("id").Where("id > ?", after).Order("id").Offset(n*closingsExamined - 1))
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("list envelopes: %w", err)
	}
	next, last := uuid.Nil, uuid.Max
	if end != nil {
		next, last = end.ID, end.ID
	}
	found, err := find[*models.Envelope](db.Select("id, app_id, tenant_id").Where("id > ? AND id <= ?", after, last).Where("id"+notQueued).
		Where("sent_at IS NOT NULL AND ("+unnotified+")", began, began, began, began).Order("id").Limit(n))
	if len(found) == n {
		next = found[n-1].ID
	}
	return mapSlice(found, row), next, wrap(err, "list closings")
}

// unnotified selects envelopes that ended after the given time, and for which some copies or closing notices have not
// been sent. The time is a parameter of the query, which uses it four times.
const unnotified = `
	status = 'completed' AND completed_at >= ? AND EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id AND NOT s.silent AND NOT EXISTS (
		SELECT 1 FROM mails AS m JOIN signers AS t ON t.id = m.signer_id WHERE m.envelope_id = envelopes.id AND m.kind = 'completed'
		AND (m.sent_at IS NOT NULL OR m.failed_at IS NOT NULL) AND t.mailbox = s.mailbox AND t.envelope_id = s.envelope_id))
	OR (status = 'voided' AND voided_at >= ? OR status = 'expired' AND expires_at >= ?
		OR status = 'declined' AND EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id AND s.declined_at >= ?)) AND (
		EXISTS (SELECT 1 FROM mails AS m WHERE m.envelope_id = envelopes.id AND m.kind = 'closed' AND m.sent_at IS NULL AND m.failed_at IS NULL)
		OR NOT EXISTS (SELECT 1 FROM mails AS m WHERE m.envelope_id = envelopes.id AND m.kind = 'closed')
		AND (EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id AND s.link_id IS NOT NULL AND s.status <> 'declined' AND NOT s.silent)
			OR EXISTS (SELECT 1 FROM mails AS m WHERE m.envelope_id = envelopes.id AND m.kind = 'copy_notice' AND m.failed_at IS NULL AND NOT EXISTS (
				SELECT 1 FROM mails AS n WHERE n.envelope_id = m.envelope_id AND n.signer_id = m.signer_id AND n.kind = m.kind AND n.created_at > m.created_at))))`

// unfinished returns outbox rows for up to n rows of a query, in ID order and starting after the given ID.
func unfinished[T any](q *gorm.DB, after uuid.UUID, n int, row func(*T) models.OutboxRow) ([]models.OutboxRow, error) {
	found, err := find[*T](q.Where("id > ?", after).Where("id" + notQueued).Order("id").Limit(n))
	return mapSlice(found, row), err
}

// unsentRequests returns the outbox rows of requests for copies, reminders or notifications whose emails are recorded
// but have been neither sent nor permanently rejected.
func (s *MaintenanceRepository) unsentRequests(db *gorm.DB, after uuid.UUID, n int) ([]models.OutboxRow, error) {
	type request struct {
		RequestID, EnvelopeID, SignerID, AppID uuid.UUID
		TenantID                               string
		Kind                                   models.MailKind
	}
	var found []request
	// SQL: the query is a join that uses an index.
	err := db.Raw(`SELECT m.request_id, m.envelope_id, m.signer_id, m.kind, e.app_id, e.tenant_id FROM mails AS m JOIN envelopes AS e ON e.id = m.envelope_id
		WHERE m.request_id > ? AND m.sent_at IS NULL AND m.failed_at IS NULL AND m.envelope_id`+notQueued+`
		ORDER BY m.request_id LIMIT ?`, after, n).Scan(&found).Error
	return mapSlice(found, func(r request) models.OutboxRow {
		kind := models.OutboxCopies
		refs := models.OutboxRefs{AppID: r.AppID, TenantID: r.TenantID, SignerID: &r.SignerID, Restart: true}
		switch r.Kind { //nolint:exhaustive // all others are copies
		case models.MailReminder:
			kind, refs.Reminder = models.OutboxReinvite, true
		case models.MailNotification:
			kind, refs.SignerID = models.OutboxNotify, nil
		}
		row := s.outboxRow(s.now(), r.EnvelopeID, kind, refs)
		row.ID = r.RequestID // the IDs of the workflow and of the email are derived from it
		return row
	}), err
}

// Requeue adds rows to the outbox for the dispatcher.
func (s *MaintenanceRepository) Requeue(ctx context.Context, rows []models.OutboxRow) error {
	if len(rows) == 0 {
		return nil
	}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		addOutbox(t, rows...)
		return nil
	})
	return wrap(err, "requeue outbox rows")
}
