package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/internal/failpoint"
	"countersign/models"
)

// ErrBulkRowNotPending means that a row is not pending, or that its bulk send is not running.
var ErrBulkRowNotPending = errors.New("store: the row of the bulk send is not pending")

// BulkWork is the next batch of a bulk send.
type BulkWork struct {
	*models.BulkSend

	Counts models.BulkCounts
	Rows   []*models.BulkRow // pending rows in order
	// Settled is the number of rows that were sent or failed within the last minute. SettledSince is the time at which
	// the first of them was settled.
	Settled      int
	SettledSince time.Time
	// Backlog is the number of envelopes of the app's bulk sends whose workflows have not started yet, up to a limit.
	Backlog int
}

// BulkWork starts a queued bulk send, and returns its next n pending rows, or no rows if the bulk send is not running.
// The backlog is counted up to the given bound.
func (s *BulkRepository) BulkWork(ctx context.Context, app, id uuid.UUID, n, bound int) (*BulkWork, error) {
	w, err := inTransaction(ctx, s.engine, func(t *transaction) (*BulkWork, error) {
		t.exec("UPDATE bulk_sends SET status = $3 WHERE id = $1 AND app_id = $2 AND status = $4", id, app, models.BulkRunning, models.BulkQueued)
		tx := t.gorm()
		loaded, err := loadBulkSend(tx, app, id)
		if err != nil {
			return nil, err
		}
		w := &BulkWork{BulkSend: loaded.BulkSend, Counts: loaded.Counts}
		if w.Status != models.BulkRunning {
			return w, nil
		}
		if w.PerMinute > 0 {
			settled, err := find[models.BulkRow](tx.Select("settled_at").Where("bulk_send_id = ? AND settled_at > ? AND status IN ?", id, s.now().Add(-time.Minute),
				[]models.BulkRowStatus{models.BulkRowSent, models.BulkRowFailed}).Order("settled_at"))
			if err != nil {
				return nil, err
			}
			if w.Settled = len(settled); w.Settled > 0 {
				w.SettledSince = settled[0].SettledAt.UTC()
			}
		}
		var waiting []int64
		err = tx.Model(&models.OutboxRow{}).Where("lane = ?", models.BulkFairnessKey(app)).Limit(bound).Pluck("seq", &waiting).Error
		if err != nil {
			return nil, err
		}
		w.Backlog = len(waiting)
		w.Rows, err = find[*models.BulkRow](tx.Where("bulk_send_id = ? AND status = ?", id, models.BulkRowPending).Order("position").Limit(n))
		if err != nil {
			return nil, err
		}
		return w, decryptAll(s.engine, w.Rows)
	})
	return w, wrap(err, "load rows of bulk send %s", id)
}

// settleRow is a condition that ensures that each row is settled only once, and only while the bulk send is running.
const settleRow = ` WHERE id = $1 AND status = 'pending' AND EXISTS (SELECT 1 FROM bulk_sends AS b WHERE b.id = bulk_send_id AND b.status = 'running')`

// SendBulkRow stores the sent envelope of a row and the row's new state in a single transaction, so that repeated calls
// create only one envelope. It returns ErrBulkRowNotPending if the row is not pending or the bulk send is not running.
func (s *BulkRepository) SendBulkRow(ctx context.Context, r *models.BulkRow, e *models.Envelope) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.execOne(`UPDATE bulk_send_rows SET status = 'sent', data = '', envelope_id = $2, settled_at = $3`+settleRow, r.ID, e.ID, s.now())
		t.reservedIn, t.bulk = r.ReservedIn, true
		var webhooks []*models.Webhook
		queueActiveWebhooks(&t.batch, &webhooks, e.AppID)
		// Check the condition before doing more work, so that a row that is not pending costs little.
		if err := t.send(); err != nil {
			return rowNotPending(err)
		}
		failpoint.Inject("store.bulk")
		return s.createOf(t, e, &webhooks)
	})
	return wrap(err, "send row %d of bulk send %s", r.Row, r.BulkSendID)
}

// createOf is like createFor, but also ensures that the envelope's template is not archived at the same time.
func (s *BulkRepository) createOf(t *transaction, e *models.Envelope, webhooks *[]*models.Webhook) error {
	if e.TemplateID != nil {
		s.templates.lockTemplate(&t.batch, *e.TemplateID, true)
		archived := false
		t.query(func(r row) error { return r.Scan(&archived) }, "SELECT archived_at IS NOT NULL FROM templates WHERE id = $1", *e.TemplateID)
		if err := t.send(); err != nil {
			return err
		}
		if archived {
			return models.ErrTemplateArchived
		}
	}
	_, err := s.envelopes.createFor(t, e, webhooks)
	return err
}

// rowNotPending returns ErrBulkRowNotPending if the condition settleRow was not met, and otherwise err.
func rowNotPending(err error) error {
	if errors.Is(err, errLostUpdate) {
		return ErrBulkRowNotPending
	}
	return err
}

// FailBulkRow records why a row cannot be sent, and releases the row's envelope reservation. The row's data is kept for
// a retry.
func (s *BulkRepository) FailBulkRow(ctx context.Context, app uuid.UUID, r *models.BulkRow, why *models.Error) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.execOne(`UPDATE bulk_send_rows SET status = 'failed', error_code = $2, error = $3, settled_at = $4, reserved_in = ''`+settleRow,
			r.ID, why.Code, why.Message, s.now())
		releaseEnvelopes(&t.batch, app, r.ReservedIn, 1)
		return rowNotPending(t.send())
	})
	return wrap(err, "fail row %d of bulk send %s", r.Row, r.BulkSendID)
}

// BulkRows lists rows of a bulk send after the given position, in order and without their content. If a status is
// given, only rows with that status are listed. At most limit rows are listed. Positions start at one.
func (s *BulkRepository) BulkRows(ctx context.Context, id uuid.UUID, status models.BulkRowStatus, after, limit int) ([]*models.BulkRow, error) {
	rows, err := find[*models.BulkRow](bulkRowsAfter(s.db.WithContext(ctx), id, status, after).Limit(limit))
	return rows, wrap(err, "list rows of bulk send %s", id)
}

func bulkRowsAfter(db *gorm.DB, id uuid.UUID, status models.BulkRowStatus, after int) *gorm.DB {
	q := db.Model(&models.BulkRow{}).Omit("data").Where("bulk_send_id = ? AND position > ?", id, after)
	return whereNonZero(q, "status = ?", status).Order("position")
}

// ExternalIDsInUse returns the subset of the given external IDs that are already used by envelopes of the tenant.
func (s *BulkRepository) ExternalIDsInUse(ctx context.Context, app uuid.UUID, tenant string, ids []string) (map[string]bool, error) {
	var used []string
	for page := range slices.Chunk(ids, 500) {
		var found []string
		err := s.db.WithContext(ctx).Model(&models.Envelope{}).Where(`app_id = ? AND tenant_id = ? AND external_id IN ?
			AND status NOT IN ('voided', 'declined', 'expired', 'deleted')`, app, tenant, page).Pluck("external_id", &found).Error
		if err != nil {
			return nil, fmt.Errorf("find external ids: %w", err)
		}
		used = append(used, found...)
	}
	return setOf(used), nil
}
