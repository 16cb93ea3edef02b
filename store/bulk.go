package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

func bulkSendColumns(b *models.BulkSend) []column {
	return []column{
		{"id", &b.ID},
		{"app_id", &b.AppID},
		{"tenant_id", &b.TenantID},
		{"template_id", &b.TemplateID},
		{"template_version", &b.TemplateVersion},
		{"name", &b.Name},
		{"status", &b.Status},
		{"per_minute", &b.PerMinute},
		{"total", &b.Total},
		{"actor", &b.Actor},
		{"created_by", &b.CreatedBy},
		{"created_at", &b.CreatedAt},
		{"completed_at", &b.CompletedAt},
	}
}

func bulkRowColumns(r *models.BulkRow) []column {
	return []column{
		{"id", &r.ID},
		{"bulk_send_id", &r.BulkSendID},
		{"position", &r.Row},
		{"external_id", &r.ExternalID},
		{"status", &r.Status},
		{"data", &r.Data},
		{"envelope_id", &r.EnvelopeID},
		{"error_code", &r.ErrorCode},
		{"error", &r.Error},
		{"settled_at", &r.SettledAt},
		{"reserved_in", &r.ReservedIn},
	}
}

// BulkSendWithCounts is a bulk send with the numbers of its rows.
type BulkSendWithCounts struct {
	*models.BulkSend

	Counts models.BulkCounts
}

// CreateBulkSend stores an accepted bulk send with its rows, reserves their envelopes
// where the plan asks for it, and has the workflow started.
func (s *Store) CreateBulkSend(ctx context.Context, b *models.BulkSend, rows []*models.BulkRow) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		period, err := s.reserveEnvelopes(t, b.AppID, len(rows))
		if err != nil {
			return err
		}
		t.insert("bulk_sends", "", bulkSendColumns(b))
		columns := make([][]column, 0, len(rows))
		for _, r := range rows {
			r.BulkSendID, r.ReservedIn = b.ID, period
			columns = append(columns, bulkRowColumns(encrypt(s, r)))
		}
		t.insert("bulk_send_rows", "", columns...)
		s.wakeBulk(t, b)
		t.result = &BulkSendWithCounts{b, models.BulkCounts{Pending: len(rows)}}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create bulk send %s: %w", b.ID, err)
	}
	s.signalWake()
	return nil
}

// wakeBulk adds the outbox row by which the workflow is started, or learns that the
// state was changed.
func (s *Store) wakeBulk(t *transaction, b *models.BulkSend) {
	addOutbox(t, s.outboxRow(s.now(), b.ID, models.OutboxBulk, models.OutboxRefs{AppID: b.AppID, TenantID: b.TenantID}))
}

// BulkSend loads an app's bulk send with the numbers of its rows.
func (s *Store) BulkSend(ctx context.Context, app, id uuid.UUID) (*BulkSendWithCounts, error) {
	out := &BulkSendWithCounts{}
	err := s.read(ctx, func(tx *gorm.DB) (err error) {
		out, err = loadBulkSend(tx, app, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load bulk send %s: %w", id, err)
	}
	return out, nil
}

func loadBulkSend(tx *gorm.DB, app, id uuid.UUID) (*BulkSendWithCounts, error) {
	b := &models.BulkSend{}
	if err := tx.Take(b, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return nil, mapNotFound(err)
	}
	counts, err := countBulkRows(tx, id)
	return &BulkSendWithCounts{b, counts}, err
}

func countBulkRows(tx *gorm.DB, id uuid.UUID) (models.BulkCounts, error) {
	var found []struct {
		Status models.BulkRowStatus
		N      int
	}
	var out models.BulkCounts
	err := tx.Raw("SELECT status, count(*) AS n FROM bulk_send_rows WHERE bulk_send_id = ? GROUP BY status", id).Scan(&found).Error
	for _, f := range found {
		out.Add(f.Status, f.N)
	}
	return out, err
}

// ChangeBulkSend does something to a bulk send: it is paused, resumed, cancelled, or
// its failed rows are tried again. check, which may be nil, refuses others' before
// anything is done.
func (s *Store) ChangeBulkSend(ctx context.Context, app, id uuid.UUID, action models.BulkAction, check func(*models.BulkSend) error) (*BulkSendWithCounts, error) {
	var out *BulkSendWithCounts
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		b := &models.BulkSend{}
		if err := s.locked(tx).Take(b, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		if check != nil {
			if err := check(b); err != nil {
				return err
			}
		}
		if _, err := b.Apply(action, s.now()); err != nil {
			return err
		}
		switch action { //nolint:exhaustive // the others change no row
		case models.BulkCancel:
			err = cancelBulkRows(t, b, s)
		case models.BulkRetry:
			err = s.retryBulkRows(t, b)
		}
		if err != nil {
			return err
		}
		t.exec("UPDATE bulk_sends SET status = $2, completed_at = $3 WHERE id = $1", b.ID, b.Status, b.CompletedAt)
		s.wakeBulk(t, b)
		if tx, err = t.gorm(); err != nil {
			return err
		}
		counts, err := countBulkRows(tx, id)
		out = &BulkSendWithCounts{b, counts}
		t.result = out
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s bulk send %s: %w", action, id, err)
	}
	s.signalWake()
	return out, nil
}

// cancelBulkRows cancels the rows that were not sent, and gives back their envelopes.
func cancelBulkRows(t *transaction, b *models.BulkSend, s *Store) error {
	released := make(map[string]int)
	t.query(func(r row) error {
		var period string
		err := r.Scan(&period)
		released[period]++
		return err
	}, `UPDATE bulk_send_rows SET status = 'cancelled', data = '', settled_at = $2 WHERE bulk_send_id = $1 AND status = 'pending' RETURNING reserved_in`, b.ID, s.now())
	// They cannot be tried again any more.
	t.exec(`UPDATE bulk_send_rows SET data = '' WHERE bulk_send_id = $1 AND status = 'failed'`, b.ID)
	if err := t.send(); err != nil {
		return err
	}
	for period, n := range released {
		releaseEnvelopes(&t.batch, b.AppID, period, n)
	}
	return nil
}

// retryBulkRows makes the failed rows pending again, and reserves their envelopes in
// the current period. Those whose data is gone stay as they are.
func (s *Store) retryBulkRows(t *transaction, b *models.BulkSend) error {
	n := 0
	t.query(func(r row) error { n++; return r.Scan(new(int)) }, `UPDATE bulk_send_rows SET status = 'pending', error_code = '', error = '', settled_at = NULL, reserved_in = 'retried'
		WHERE bulk_send_id = $1 AND status = 'failed' AND data <> '' RETURNING position`, b.ID)
	failed := 0 // those that are left
	t.query(func(r row) error { return r.Scan(&failed) }, "SELECT count(*) FROM bulk_send_rows WHERE bulk_send_id = $1 AND status = 'failed'", b.ID)
	if err := t.send(); err != nil {
		return err
	}
	switch {
	case n == 0 && failed > 0:
		return models.Refuse(models.KindConflict, "bulk_send_rows_removed",
			"What the failed rows were made from has been removed; please send them in a new bulk send.")
	case n == 0:
		return models.Refuse(models.KindConflict, "bulk_send_no_failed_rows", "No row of the bulk send has failed.")
	}
	period, err := s.reserveEnvelopes(t, b.AppID, n)
	// Rows that were pending before keep the period in which they were reserved.
	t.exec("UPDATE bulk_send_rows SET reserved_in = $2 WHERE bulk_send_id = $1 AND reserved_in = 'retried'", b.ID, period)
	return err
}

// FinishBulkSend completes a bulk send of which no row is pending any more, and has
// the app told. It reports whether it is complete.
func (s *Store) FinishBulkSend(ctx context.Context, app, id uuid.UUID) (bool, error) {
	finished := false
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		b := &models.BulkSend{}
		if err := s.locked(tx).Take(b, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		counts, err := countBulkRows(tx, id)
		if err != nil || counts.Pending > 0 {
			return err
		}
		now := s.now()
		if _, err := b.Apply(models.BulkFinish, now); err != nil {
			finished = b.Status == models.BulkCompleted
			return ignoreRefusal(err)
		}
		finished = true
		t.exec("UPDATE bulk_sends SET status = $2, completed_at = $3 WHERE id = $1", b.ID, b.Status, b.CompletedAt)
		return s.announceBulk(t, b, counts)
	})
	if err != nil {
		return false, fmt.Errorf("finish bulk send %s: %w", id, err)
	}
	s.signalWake()
	return finished, nil
}

// ignoreRefusal: what another has done already, or prevented, is not done again.
func ignoreRefusal(err error) error {
	if models.IsRefusal(err) {
		return nil
	}
	return err
}

// announceBulk adds the event bulk.completed, with a delivery for each endpoint that
// subscribes to it.
func (s *Store) announceBulk(t *transaction, b *models.BulkSend, counts models.BulkCounts) error {
	var webhooks []*models.Webhook
	queueActiveWebhooks(&t.batch, &webhooks, b.AppID)
	if err := t.send(); err != nil {
		return err
	}
	ev := &models.WebhookEvent{ID: s.newID(), AppID: b.AppID, TenantID: b.TenantID, Name: models.EventBulkCompleted, CreatedAt: s.now()}
	var err error
	if ev.Body, err = models.BulkCompletedPayload(ev.ID, b.ID, counts, ev.CreatedAt); err != nil {
		return err
	}
	var wanted []*models.Delivery
	for _, w := range webhooks {
		if w.SubscribesTo(ev.Name) {
			wanted = append(wanted, &models.Delivery{
				ID: s.newID(), AppID: b.AppID, WebhookID: w.ID, EventID: ev.ID, Event: ev.Name, Status: models.DeliveryPending, CreatedAt: ev.CreatedAt,
			})
		}
	}
	addOutbox(t, s.addDeliveries(t, ev, wanted...)...)
	return nil
}
