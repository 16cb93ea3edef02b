package store

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// BulkRepository stores bulk sends and their rows, and creates the envelopes of the rows.
type BulkRepository struct {
	*engine

	apps      *AppRepository
	webhooks  *WebhookRepository
	envelopes *EnvelopeRepository
	templates *TemplateRepository
}

func (s *BulkRepository) register() {
	encryptRows(s.engine, func(v *models.BulkRow) encryptedRow {
		return encryptedRow{"bulk_send_rows", v.ID.String(), []encryptedColumn{{name: "data", text: &v.Data}}}
	})
	rewrapRows[models.BulkRow](s.engine, "id", nil)
}

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

// BulkSendWithCounts is a bulk send with the number of its rows by status.
type BulkSendWithCounts struct {
	*models.BulkSend

	Counts models.BulkCounts
}

// CreateBulkSend stores an accepted bulk send with its rows, reserves envelopes for the rows if the plan requires it,
// and starts the workflow.
func (s *BulkRepository) CreateBulkSend(ctx context.Context, b *models.BulkSend, rows []*models.BulkRow) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		period, err := s.apps.reserveEnvelopes(t, b.AppID, len(rows))
		if err != nil {
			return err
		}
		t.insert("bulk_sends", "", bulkSendColumns(b))
		columns := make([][]column, 0, len(rows))
		for _, r := range rows {
			r.BulkSendID, r.ReservedIn = b.ID, period
			columns = append(columns, bulkRowColumns(encrypt(s.engine, r)))
		}
		t.insert("bulk_send_rows", "", columns...)
		addOutbox(t, s.bulkRow(b))
		return nil
	})
	return wrap(err, "create bulk send %s", b.ID)
}

// bulkRow returns the outbox row that starts the bulk send's workflow, or notifies the workflow of a changed state.
func (s *BulkRepository) bulkRow(b *models.BulkSend) models.OutboxRow {
	return s.outboxRow(s.now(), b.ID, models.OutboxBulk, models.OutboxRefs{AppID: b.AppID, TenantID: b.TenantID})
}

// BulkSend loads an app's bulk send with its row counts.
func (s *BulkRepository) BulkSend(ctx context.Context, app, id uuid.UUID) (*BulkSendWithCounts, error) {
	var out *BulkSendWithCounts
	err := s.read(ctx, func(tx *gorm.DB) (err error) {
		out, err = loadBulkSend(tx, app, id)
		return err
	})
	return out, wrap(err, "load bulk send %s", id)
}

func loadBulkSend(db *gorm.DB, app, id uuid.UUID) (*BulkSendWithCounts, error) {
	b, err := one[models.BulkSend](db, "id = ? AND app_id = ?", id, app)
	if err != nil {
		return nil, err
	}
	counts, err := countBulkRows(db, id)
	return &BulkSendWithCounts{b, counts[id]}, err
}

func countBulkRows(db *gorm.DB, ids ...uuid.UUID) (map[uuid.UUID]models.BulkCounts, error) {
	var found []struct {
		BulkSendID uuid.UUID
		Status     models.BulkRowStatus
		N          int
	}
	out := make(map[uuid.UUID]models.BulkCounts, len(ids))
	err := db.Model(&models.BulkRow{}).Select("bulk_send_id, status, count(*) AS n").Where("bulk_send_id IN ?", ids).Group("bulk_send_id, status").Scan(&found).Error
	for _, f := range found {
		counts := out[f.BulkSendID]
		counts.Add(f.Status, f.N)
		out[f.BulkSendID] = counts
	}
	return out, err
}

// BulkSends lists an app's bulk sends with their row counts, newest first. At most limit bulk sends are listed. If a
// tenant is given, only that tenant's bulk sends are listed. If after is not uuid.Nil, only bulk sends older than the
// one with this ID are listed.
func (s *BulkRepository) BulkSends(ctx context.Context, app uuid.UUID, tenant string, after uuid.UUID, limit int) (list []*BulkSendWithCounts, err error) {
	err = s.fromReplica(ctx, func(s *engine) error {
		return s.read(ctx, func(tx *gorm.DB) error {
			found, err := find[*models.BulkSend](bulkSendsAfter(tx, app, tenant, after).Limit(limit))
			if err != nil || len(found) == 0 {
				return err
			}
			counts, err := countBulkRows(tx, mapSlice(found, func(b *models.BulkSend) uuid.UUID { return b.ID })...)
			list = mapSlice(found, func(b *models.BulkSend) *BulkSendWithCounts { return &BulkSendWithCounts{b, counts[b.ID]} })
			return err
		})
	})
	return list, wrap(err, "list bulk sends")
}

func bulkSendsAfter(db *gorm.DB, app uuid.UUID, tenant string, after uuid.UUID) *gorm.DB {
	q := whereNonZero(db.Model(&models.BulkSend{}).Where("app_id = ?", app), "tenant_id = ?", tenant)
	return whereNonZero(q, "id < ?", after).Order("id DESC")
}

// ChangeBulkSend pauses, resumes or cancels a bulk send, or retries its failed rows. If check is not nil, it can reject
// the change before anything is modified.
func (s *BulkRepository) ChangeBulkSend(ctx context.Context, app, id uuid.UUID, action models.BulkAction, check func(*models.BulkSend) error) (*BulkSendWithCounts, error) {
	out, err := inTransaction(ctx, s.engine, func(t *transaction) (*BulkSendWithCounts, error) {
		b, err := one[models.BulkSend](s.locked(t.gorm()), "id = ? AND app_id = ?", id, app)
		if err != nil {
			return nil, err
		}
		if check != nil {
			if err := check(b); err != nil {
				return nil, err
			}
		}
		if _, err := b.Apply(action, s.now()); err != nil {
			return nil, err
		}
		switch action { //nolint:exhaustive // the other actions change no row
		case models.BulkCancel:
			err = cancelBulkRows(t, b, s.engine)
		case models.BulkRetry:
			err = s.retryBulkRows(t, b)
		}
		if err != nil {
			return nil, err
		}
		t.exec("UPDATE bulk_sends SET status = $2, completed_at = $3 WHERE id = $1", b.ID, b.Status, b.CompletedAt)
		addOutbox(t, s.bulkRow(b))
		counts, err := countBulkRows(t.gorm(), id)
		return &BulkSendWithCounts{b, counts[id]}, err
	})
	return out, wrap(err, "%s bulk send %s", action, id)
}

// cancelBulkRows cancels the rows that have not been sent, and releases their reservations.
func cancelBulkRows(t *transaction, b *models.BulkSend, s *engine) error {
	released := make(map[string]int)
	t.query(func(r row) error {
		var period string
		err := r.Scan(&period)
		released[period]++
		return err
	}, `UPDATE bulk_send_rows SET status = 'cancelled', data = '', settled_at = $2 WHERE bulk_send_id = $1 AND status = 'pending' RETURNING reserved_in`, b.ID, s.now())
	// Failed rows can no longer be retried.
	t.exec(`UPDATE bulk_send_rows SET data = '' WHERE bulk_send_id = $1 AND status = 'failed'`, b.ID)
	if err := t.send(); err != nil {
		return err
	}
	for period, n := range released {
		releaseEnvelopes(&t.batch, b.AppID, period, n)
	}
	return nil
}

// retryBulkRows makes the failed rows pending again, and reserves their envelopes in the current period. Rows without
// data remain failed.
func (s *BulkRepository) retryBulkRows(t *transaction, b *models.BulkSend) error {
	n := 0
	t.query(func(r row) error { n++; return r.Scan(new(int)) }, `UPDATE bulk_send_rows SET status = 'pending', error_code = '', error = '', settled_at = NULL, reserved_in = 'retried'
		WHERE bulk_send_id = $1 AND status = 'failed' AND data <> '' RETURNING position`, b.ID)
	failed := 0 // number of remaining failed rows
	t.query(func(r row) error { return r.Scan(&failed) }, "SELECT count(*) FROM bulk_send_rows WHERE bulk_send_id = $1 AND status = 'failed'", b.ID)
	if err := t.send(); err != nil {
		return err
	}
	switch {
	case n == 0 && failed > 0:
		return models.Reject(models.KindConflict, "bulk_send_rows_removed",
			"The contents of the failed rows have been deleted. Send them in a new bulk send.")
	case n == 0:
		return models.Reject(models.KindConflict, "bulk_send_no_failed_rows", "No row of this bulk send has failed.")
	}
	period, err := s.apps.reserveEnvelopes(t, b.AppID, n)
	// Rows that were already pending keep the period in which they were reserved.
	t.exec("UPDATE bulk_send_rows SET reserved_in = $2 WHERE bulk_send_id = $1 AND reserved_in = 'retried'", b.ID, period)
	return err
}

// FinishBulkSend completes a bulk send that has no pending rows, and records the event for the app. It reports whether
// the bulk send is now complete.
func (s *BulkRepository) FinishBulkSend(ctx context.Context, app, id uuid.UUID) (bool, error) {
	finished, err := inTransaction(ctx, s.engine, func(t *transaction) (bool, error) {
		b, err := one[models.BulkSend](s.locked(t.gorm()), "id = ? AND app_id = ?", id, app)
		if err != nil {
			return false, err
		}
		counts, err := countBulkRows(t.gorm(), id)
		if err != nil || counts[id].Pending > 0 {
			return false, err
		}
		now := s.now()
		if _, err := b.Apply(models.BulkFinish, now); err != nil {
			return b.Status == models.BulkCompleted, ignoreRejection(err)
		}
		t.exec("UPDATE bulk_sends SET status = $2, completed_at = $3 WHERE id = $1", b.ID, b.Status, b.CompletedAt)
		return true, s.announceBulk(t, b, counts[id])
	})
	return finished, wrap(err, "finish bulk send %s", id)
}

// ignoreRejection returns nil for a rejected transition, because another process has already performed or prevented
// the step. Other errors are returned unchanged.
func ignoreRejection(err error) error {
	if models.IsRejection(err) {
		return nil
	}
	return err
}

// announceBulk adds the event bulk.completed, with a delivery for each subscribed endpoint.
func (s *BulkRepository) announceBulk(t *transaction, b *models.BulkSend, counts models.BulkCounts) error {
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
	addOutbox(t, s.webhooks.addDeliveries(t, ev, webhooks)...)
	return nil
}
