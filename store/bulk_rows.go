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

// ErrBulkRowTaken reports that a row is not pending: it was sent, or the bulk send is paused or canceled.
var ErrBulkRowTaken = errors.New("store: the row of the bulk send is not pending")

// BulkWork is the next batch of a bulk send.
type BulkWork struct {
	*models.BulkSend

	Counts models.BulkCounts
	Rows   []*models.BulkRow // pending ones, in their order
	// Settled is the number of rows sent or failed within the last minute, the first of them at SettledSince.
	Settled      int
	SettledSince time.Time
	// Backlog is the number of envelopes of the app's bulk sends whose workflows have not started, up to a limit.
	Backlog int
}

// BulkWork starts a queued bulk send, and returns its next n pending rows; none unless it is running. It counts
// Backlog up to bound.
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
	return w, wrap(err, "rows of bulk send %s", id)
}

// settleRow is the guard of a row: it is settled once, and only while the bulk send runs.
const settleRow = ` WHERE id = $1 AND status = 'pending' AND EXISTS (SELECT 1 FROM bulk_sends AS b WHERE b.id = bulk_send_id AND b.status = 'running')`

// SendBulkRow stores the sent envelope of a row and the row's new state in one transaction, so repeated calls create
// one envelope. It returns ErrBulkRowTaken if the row is not pending.
func (s *BulkRepository) SendBulkRow(ctx context.Context, r *models.BulkRow, e *models.Envelope) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.execOne(`UPDATE bulk_send_rows SET status = 'sent', data = '', envelope_id = $2, settled_at = $3`+settleRow, r.ID, e.ID, s.now())
		t.reservedIn, t.bulk = r.ReservedIn, true
		var webhooks []*models.Webhook
		queueActiveWebhooks(&t.batch, &webhooks, e.AppID)
		// The guard comes first: it makes a row that is not pending cheap, and prevents lost updates.
		if err := t.send(); err != nil {
			return takenRow(err)
		}
		failpoint.Inject("store.bulk")
		return s.createOf(t, e, &webhooks)
	})
	return wrap(err, "send row %d of bulk send %s", r.Row, r.BulkSendID)
}

// createOf is createFor for an envelope of a template, which cannot be archived in the meantime.
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

// takenRow is ErrBulkRowTaken where the guard of a row did not hold.
func takenRow(err error) error {
	if errors.Is(err, errLostUpdate) {
		return ErrBulkRowTaken
	}
	return err
}

// FailBulkRow records why a row cannot be sent, and releases its envelope. The data of the row is kept for a retry.
func (s *BulkRepository) FailBulkRow(ctx context.Context, app uuid.UUID, r *models.BulkRow, why *models.Error) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.execOne(`UPDATE bulk_send_rows SET status = 'failed', error_code = $2, error = $3, settled_at = $4, reserved_in = ''`+settleRow,
			r.ID, why.Code, why.Message, s.now())
		releaseEnvelopes(&t.batch, app, r.ReservedIn, 1)
		return takenRow(t.send())
	})
	return wrap(err, "fail row %d of bulk send %s", r.Row, r.BulkSendID)
}

// BulkRows lists up to limit rows of a bulk send that follow a position, of one status or of all (""), in order and
// without their content. Positions count from 1.
func (s *BulkRepository) BulkRows(ctx context.Context, id uuid.UUID, status models.BulkRowStatus, after, limit int) ([]*models.BulkRow, error) {
	rows, err := find[*models.BulkRow](bulkRowsAfter(s.db.WithContext(ctx), id, status, after).Limit(limit))
	return rows, wrap(err, "list rows of bulk send %s", id)
}

// bulkRowsAfter selects the rows of BulkRows.
func bulkRowsAfter(db *gorm.DB, id uuid.UUID, status models.BulkRowStatus, after int) *gorm.DB {
	q := db.Model(&models.BulkRow{}).Omit("data").Where("bulk_send_id = ? AND position > ?", id, after)
	return whereGiven(q, "status = ?", status).Order("position")
}

// TakenExternalIDs returns which of the external ids envelopes of the tenant already have.
func (s *BulkRepository) TakenExternalIDs(ctx context.Context, app uuid.UUID, tenant string, ids []string) (map[string]bool, error) {
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
