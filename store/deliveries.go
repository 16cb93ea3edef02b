package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// DeliveryFilter selects deliveries for a list. Zero values select all.
type DeliveryFilter struct {
	App      uuid.UUID
	Status   models.DeliveryStatus
	Event    models.EventName
	Webhook  uuid.UUID
	Envelope uuid.UUID
	Page     int // from 1
	Size     int
}

// Deliveries lists an app's deliveries, newest first, with the number of all
// that match, counted up to countLimit.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) ([]models.Delivery, int64, error) {
	db := s.db.WithContext(ctx)
	q := db.Model(&models.Delivery{}).Where("app_id = ?", f.App)
	if f.Status != "" {
		q = q.Where("status = ?", f.Status)
	}
	if f.Event != "" {
		q = q.Where("event = ?", f.Event)
	}
	if f.Webhook != uuid.Nil {
		q = q.Where("webhook_id = ?", f.Webhook)
	}
	if f.Envelope != uuid.Nil {
		q = q.Where("envelope_id = ?", f.Envelope)
	}
	total, err := countUpTo(db, q)
	if err != nil {
		return nil, 0, fmt.Errorf("count deliveries: %w", err)
	}
	out := []models.Delivery{}
	if err := q.Order("id DESC").Offset((f.Page - 1) * f.Size).Limit(f.Size).Find(&out).Error; err != nil {
		return nil, 0, fmt.Errorf("list deliveries: %w", err)
	}
	return out, total, nil
}

// countLimit is where counting for a page's total ends.
const countLimit = 10_000

func countUpTo(db, q *gorm.DB) (int64, error) {
	var n int64
	part := q.Session(&gorm.Session{}).Select("1").Limit(countLimit)
	err := db.Table("(?) AS part", part).Count(&n).Error
	return n, err
}

// Delivery loads an app's delivery with its event and every attempt, oldest
// first, as they are at one moment.
func (s *Store) Delivery(ctx context.Context, app, id uuid.UUID) (*models.Delivery, *models.WebhookEvent, []models.DeliveryAttempt, error) {
	d, ev, attempts := &models.Delivery{}, &models.WebhookEvent{}, []models.DeliveryAttempt{}
	err := s.read(ctx, func(tx *gorm.DB) error {
		if err := tx.Take(d, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return found(err)
		}
		if err := tx.Take(ev, "id = ?", d.EventID).Error; err != nil {
			return fmt.Errorf("its event: %w", found(err))
		}
		if err := tx.Where("delivery_id = ?", id).Order("number").Find(&attempts).Error; err != nil {
			return err
		}
		return errors.Join(unseal(s, ev), unsealAll(s, pointers(attempts)))
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("load delivery %s: %w", id, err)
	}
	return d, ev, attempts, nil
}

// Resend puts a settled delivery on its way again, under the same event id.
func (s *Store) Resend(ctx context.Context, app, id uuid.UUID) (*models.Delivery, error) {
	d := &models.Delivery{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = d
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		if err := s.locked(tx).Take(d, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return found(err)
		}
		var hooks []models.Webhook
		if err := tx.Where("id = ?", d.WebhookID).Find(&hooks).Error; err != nil {
			return err
		}
		var w *models.Webhook
		if len(hooks) > 0 {
			w = &hooks[0]
		}
		if err := d.Resend(w); err != nil {
			return err
		}
		return s.resend(t, tx, []*models.Delivery{d})
	})
	if err != nil {
		return nil, fmt.Errorf("resend delivery %s: %w", id, err)
	}
	s.signalWake()
	return d, nil
}

// resendLimit bounds one call of ResendSince.
const resendLimit = 1000

// Resent is how many deliveries were put on their way again, and how many more
// there are.
type Resent struct {
	Resent    int
	Remaining int64
}

// ResendSince puts all failed deliveries of an endpoint that were made since a
// time on their way again, oldest first and at most 1,000 at once.
func (s *Store) ResendSince(ctx context.Context, app, webhook uuid.UUID, since time.Time) (*Resent, error) {
	out := &Resent{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = out
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var hook models.Webhook
		if err := tx.Take(&hook, "id = ? AND app_id = ?", webhook, app).Error; err != nil {
			return found(err)
		}
		if err := hook.CanDeliver(); err != nil {
			return err
		}
		q := s.locked(tx).Where("webhook_id = ? AND status = ? AND created_at >= ? AND run < ?", webhook, models.DeliveryFailed, since.UTC(), models.MaxRuns)
		var failed []*models.Delivery
		if err := q.Order("id").Limit(resendLimit).Find(&failed).Error; err != nil {
			return err
		}
		out.Resent = len(failed)
		if out.Resent == 0 {
			return nil
		}
		for _, d := range failed {
			if err := d.Resend(&hook); err != nil {
				return err
			}
		}
		if err := s.resend(t, tx, failed); err != nil {
			return err
		}
		return tx.Model(&models.Delivery{}).Where("webhook_id = ? AND status = ? AND created_at >= ? AND run < ?",
			webhook, models.DeliveryFailed, since.UTC(), models.MaxRuns).Count(&out.Remaining).Error
	})
	if err != nil {
		return nil, fmt.Errorf("resend deliveries of webhook %s: %w", webhook, err)
	}
	s.signalWake()
	return out, nil
}

// resend saves deliveries that are on their way again, and has them started.
func (s *Store) resend(t *transaction, tx *gorm.DB, ds []*models.Delivery) error {
	now := s.now()
	ids := make([]uuid.UUID, 0, len(ds))
	rows := make([]models.OutboxRow, 0, len(ds))
	for _, d := range ds {
		ids = append(ids, d.ID)
		rows = append(rows, s.outboxRow(now, d.ID, models.OutboxDeliver,
			models.OutboxRefs{AppID: d.AppID, WebhookID: &d.WebhookID, Resend: d.Run}))
	}
	err := tx.Model(&models.Delivery{}).Where("id IN ?", ids).Updates(map[string]any{
		"status": models.DeliveryPending, "run": gorm.Expr("run + 1"), "failed_at": nil, "delivered_at": nil,
	}).Error
	if err != nil {
		return err
	}
	addOutbox(t, rows...)
	return nil
}

// PingWebhook sends the endpoint an event of its own, which concerns no envelope.
func (s *Store) PingWebhook(ctx context.Context, app, webhook uuid.UUID) (*models.Delivery, error) {
	d := &models.Delivery{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = d
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var hook models.Webhook
		if err := tx.Take(&hook, "id = ? AND app_id = ?", webhook, app).Error; err != nil {
			return found(err)
		}
		if err := hook.CanDeliver(); err != nil {
			return err
		}
		now := s.now()
		ev := &models.WebhookEvent{ID: s.newID(), AppID: app, Name: models.EventPing, CreatedAt: now}
		if ev.Body, err = models.PingNotice(ev.ID, webhook, now); err != nil {
			return err
		}
		*d = models.Delivery{
			ID: s.newID(), AppID: app, WebhookID: webhook, EventID: ev.ID, Event: ev.Name, Status: models.DeliveryPending, CreatedAt: now,
		}
		addOutbox(t, s.addDeliveries(t, ev, d)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ping webhook %s: %w", webhook, err)
	}
	s.signalWake()
	return d, nil
}
