package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Unfinished lists what workflows of a kind are still for, n at a time after the given
// OutboxRow.ListedBy, each as the outbox row that would start its workflow:
// envelopes that are open or whose signers have not been notified of the end
// (OutboxStart), files to be purged one day (OutboxRetention), files that lack a
// time-stamp (OutboxTimestamp), deliveries on their way (OutboxDeliver), bulk
// sends that have not ended (OutboxBulk) and copies that were asked for again and
// begun (OutboxCopies).
func (s *Store) Unfinished(ctx context.Context, kind models.OutboxKind, after uuid.UUID, n int) ([]models.OutboxRow, error) {
	db := s.db.WithContext(ctx)
	var (
		rows []models.OutboxRow
		err  error
	)
	restart := func(e *models.Envelope) models.OutboxRow {
		// Restart makes Temporal start it also where an earlier run has ended well: the database decides.
		return s.outboxRow(s.now(), e.ID, kind, models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID, Restart: true})
	}
	envelopes := db.Select("id, app_id, tenant_id")
	switch kind { //nolint:exhaustive // the others are signals, which carry no more than the database says
	case models.OutboxStart:
		began := s.historyStart() // of what ended before, the records of mails are removed
		rows, err = unfinished(envelopes.Where(`status IN ? OR sent_at IS NOT NULL AND (`+unnotified+`)`,
			[]models.Status{models.StatusSent, models.StatusInProgress, models.StatusSealing}, began, began, began, began), after, n, restart)
	case models.OutboxRetention:
		rows, err = unfinished(envelopes.Where(`status = ? AND EXISTS (SELECT 1 FROM documents AS d
			WHERE d.envelope_id = envelopes.id AND d.retention_until IS NOT NULL AND d.purge_status = ?)`,
			models.StatusCompleted, models.PurgeActive), after, n, restart)
	case models.OutboxTimestamp:
		rows, err = unfinished(envelopes.Where(`status = ? AND EXISTS (SELECT 1 FROM documents AS d
			WHERE d.envelope_id = envelopes.id AND d.timestamp_pending AND d.purge_status = ?)`,
			models.StatusCompleted, models.PurgeActive), after, n, restart)
	case models.OutboxDeliver:
		rows, err = unfinished(db.Where("status = ?", models.DeliveryPending), after, n, func(d *models.Delivery) models.OutboxRow { return s.deliveryRow(s.now(), d) })
	case models.OutboxBulk:
		rows, err = unfinished(db.Where("status IN ?", []models.BulkStatus{models.BulkQueued, models.BulkRunning, models.BulkPaused}), after, n, s.bulkRow)
	case models.OutboxCopies:
		rows, err = s.unsentCopies(db, after, n)
	default:
		err = fmt.Errorf("outbox kind %q has no workflow of its own", kind)
	}
	return rows, wrap(err, "list what is unfinished")
}

// unnotified is true of an envelope that was closed since a time, which is given four
// times, and whose copies, or the news of its end, have not all gone out.
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

// unfinished are the outbox rows of what a query finds, by id and n at a time after the given one.
func unfinished[T any](q *gorm.DB, after uuid.UUID, n int, row func(*T) models.OutboxRow) ([]models.OutboxRow, error) {
	found, err := find[*T](q.Where("id > ?", after).Order("id").Limit(n))
	return mapSlice(found, row), err
}

// unsentCopies are the rows that asked for copies again whose mails were begun, and neither went
// out nor were given up.
func (s *Store) unsentCopies(db *gorm.DB, after uuid.UUID, n int) ([]models.OutboxRow, error) {
	type request struct {
		RequestID, EnvelopeID, SignerID, AppID uuid.UUID
		TenantID                               string
	}
	var found []request
	err := db.Raw(`SELECT m.request_id, m.envelope_id, m.signer_id, e.app_id, e.tenant_id FROM mails AS m JOIN envelopes AS e ON e.id = m.envelope_id
		WHERE m.request_id > ? AND m.sent_at IS NULL AND m.failed_at IS NULL ORDER BY m.request_id LIMIT ?`, after, n).Scan(&found).Error
	return mapSlice(found, func(r request) models.OutboxRow {
		row := s.outboxRow(s.now(), r.EnvelopeID, models.OutboxCopies, models.OutboxRefs{AppID: r.AppID, TenantID: r.TenantID, SignerID: &r.SignerID, Restart: true})
		row.ID = r.RequestID // the ids of the workflow and the mail are made of it
		return row
	}), err
}

// Requeue puts rows into the outbox, from where the dispatcher takes them.
func (s *Store) Requeue(ctx context.Context, rows []models.OutboxRow) error {
	if len(rows) == 0 {
		return nil
	}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		addOutbox(t, rows...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("requeue outbox rows: %w", err)
	}
	s.signalWake()
	return nil
}
