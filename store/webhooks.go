package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// CreateWebhook registers an endpoint. With secret "" its deliveries are
// signed with the app's client secret.
func (s *Store) CreateWebhook(ctx context.Context, app uuid.UUID, url string, events []models.EventName, secret string) (*models.Webhook, error) {
	w := &models.Webhook{ID: s.newID(), AppID: app, URL: url, Events: events, Active: true, CreatedAt: s.now()}
	if secret != "" {
		w.Secret = s.vault.Seal([]byte(secret), labelWebhookSecret)
	}
	if err := s.db.WithContext(ctx).Create(w).Error; err != nil {
		return nil, fmt.Errorf("create webhook: %w", err)
	}
	return w, nil
}

// Webhooks lists an app's endpoints, oldest first.
func (s *Store) Webhooks(ctx context.Context, app uuid.UUID) ([]models.Webhook, error) {
	out := []models.Webhook{}
	if err := s.db.WithContext(ctx).Where("app_id = ?", app).Order("created_at, id").Find(&out).Error; err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return out, nil
}

// DeleteWebhook removes an endpoint and ends what is on its way to it.
func (s *Store) DeleteWebhook(ctx context.Context, app, id uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		res := tx.Where("id = ? AND app_id = ?", id, app).Delete(&models.Webhook{})
		if res.Error == nil && res.RowsAffected == 0 {
			return models.ErrNotFound
		}
		if res.Error != nil {
			return res.Error
		}
		return tx.Model(&models.Delivery{}).Where("webhook_id = ? AND status = ?", id, models.DeliveryPending).
			Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
	})
	if err != nil {
		return fmt.Errorf("delete webhook %s: %w", id, err)
	}
	return nil
}

// DeliveryJob is what a try at a delivery needs.
type DeliveryJob struct {
	Delivery models.Delivery
	Event    models.WebhookEvent
	URL      string
	Secret   []byte
}

// DeliveryJob loads a pending delivery. It returns models.ErrNotFound if the
// delivery is settled or its endpoint is gone: there is nothing to do.
func (s *Store) DeliveryJob(ctx context.Context, id uuid.UUID) (*DeliveryJob, error) {
	db := s.db.WithContext(ctx)
	j := &DeliveryJob{}
	if err := db.Take(&j.Delivery, "id = ? AND status = ?", id, models.DeliveryPending).Error; err != nil {
		return nil, fmt.Errorf("load delivery %s: %w", id, found(err))
	}
	var w models.Webhook
	if err := db.Take(&w, "id = ? AND active", j.Delivery.WebhookID).Error; err != nil {
		return nil, fmt.Errorf("load webhook of delivery %s: %w", id, found(err))
	}
	if err := db.Take(&j.Event, "id = ?", j.Delivery.EventID).Error; err != nil {
		return nil, fmt.Errorf("load event of delivery %s: %w", id, found(err))
	}
	var err error
	j.URL = w.URL
	if w.Secret != nil {
		j.Secret, err = s.vault.Open(w.Secret, labelWebhookSecret)
	} else {
		j.Secret, err = s.clientSecret(ctx, w.AppID)
	}
	if err != nil {
		return nil, fmt.Errorf("secret of delivery %s: %w", id, err)
	}
	return j, nil
}

// RecordAttempt keeps a try at a delivery and settles it: delivered if it went
// well, failed if it was the last.
func (s *Store) RecordAttempt(ctx context.Context, a models.DeliveryAttempt, delivered, last bool) error {
	a.ID = s.newID()
	err := s.tx(ctx, func(tx *gorm.DB) error {
		var d models.Delivery
		if err := s.locked(tx).Take(&d, "id = ?", a.DeliveryID).Error; err != nil {
			return found(err)
		}
		change := map[string]any{"attempts": d.Attempts + 1}
		a.Number = d.Attempts + 1
		switch {
		case delivered:
			change["status"], change["delivered_at"] = models.DeliveryDelivered, a.At
		case last:
			change["status"], change["failed_at"] = models.DeliveryFailed, a.At
		}
		if err := tx.Model(&d).Updates(change).Error; err != nil {
			return err
		}
		return tx.Create(&a).Error
	})
	if err != nil {
		return fmt.Errorf("record attempt at delivery %s: %w", a.DeliveryID, err)
	}
	return nil
}

// AbandonDelivery marks a delivery as failed unless it is settled.
func (s *Store) AbandonDelivery(ctx context.Context, id uuid.UUID) error {
	err := s.db.WithContext(ctx).Model(&models.Delivery{}).Where("id = ? AND status = ?", id, models.DeliveryPending).
		Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
	if err != nil {
		return fmt.Errorf("abandon delivery %s: %w", id, err)
	}
	return nil
}
