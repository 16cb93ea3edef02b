package store

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	err := s.make(ctx, w, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&models.App{}, "id = ?", app).Error; err != nil { // one after the other
			return found(err)
		}
		var n int64
		if err := tx.Model(&models.Webhook{}).Where("app_id = ?", app).Count(&n).Error; err != nil {
			return err
		}
		if err := models.RoomForWebhook(n); err != nil {
			return err
		}
		return tx.Create(w).Error
	})
	if err != nil {
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
		return s.failPending(tx, id)
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
	// Secrets sign it, the newest first. While a secret is replaced there are
	// several: receivers may still know the oldest alone.
	Secrets      [][]byte
	FailingSince *time.Time
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
	err := unseal(s, &j.Event)
	if err != nil {
		return nil, fmt.Errorf("load event of delivery %s: %w", id, err)
	}
	j.URL, j.FailingSince = w.URL, w.FailingSince
	if j.Secrets, err = s.webhookSecrets(ctx, db, &w); err != nil {
		return nil, fmt.Errorf("secrets of delivery %s: %w", id, err)
	}
	return j, nil
}

// webhookSecrets are what an endpoint's deliveries are signed with, the newest
// first: its own secret or else the app's client secrets, and until the end of a
// rotation the one before.
func (s *Store) webhookSecrets(ctx context.Context, db *gorm.DB, w *models.Webhook) ([][]byte, error) {
	var out [][]byte
	if w.Secret != nil {
		own, err := s.vault.Open(w.Secret, labelWebhookSecret)
		if err != nil {
			return nil, err
		}
		out = append(out, own)
	} else {
		shared, err := s.clientSecrets(ctx, db, w.AppID)
		if err != nil {
			return nil, err
		}
		out = shared
	}
	if !w.PreviousSigns(s.now()) {
		return out, nil
	}
	old, err := s.vault.Open(w.PreviousSecret, labelWebhookSecret)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(secret []byte) bool { return string(secret) == string(old) })
	return append(out, old), nil
}

// RecordAttempt keeps an attempt at a delivery and settles the delivery by it. It
// returns why the endpoint was switched off by it, "" if it was not.
func (s *Store) RecordAttempt(ctx context.Context, a models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	a.ID = s.newID()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		var d models.Delivery
		if err := s.locked(tx).Take(&d, "id = ?", a.DeliveryID).Error; err != nil {
			return found(err)
		}
		d.Record(&a, o)
		if err := tx.Model(&d).Select("attempts", "status", "delivered_at", "failed_at").Updates(&d).Error; err != nil {
			return err
		}
		if err := tx.Create(sealed(s, &a)).Error; err != nil {
			return err
		}
		disabled, err = s.updateEndpointHealth(tx, &a, o)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("record attempt at delivery %s: %w", a.DeliveryID, err)
	}
	return disabled, nil
}

// updateEndpointHealth saves what an attempt tells of the endpoint. It writes only
// what changes: endpoints that do well are not locked by their deliveries.
func (s *Store) updateEndpointHealth(tx *gorm.DB, a *models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	var hooks []models.Webhook
	if err := tx.Where("id = ?", o.WebhookID).Find(&hooks).Error; err != nil || len(hooks) == 0 {
		return "", err
	}
	w, was := &hooks[0], hooks[0]
	disabled = w.UpdateHealth(a, o)
	columns := []string{"last_error"}
	if w.FailingSince != was.FailingSince {
		columns = append(columns, "failing_since")
	}
	if disabled == "" {
		if len(columns) == 1 && w.LastError == was.LastError {
			return "", nil
		}
		return "", tx.Model(w).Select(columns).Updates(w).Error
	}
	res := tx.Model(w).Where("active").Select(append(columns, "active", "disabled_at", "disabled_reason")).Updates(w)
	if res.Error != nil || res.RowsAffected == 0 {
		return "", res.Error // another delivery was first
	}
	return disabled, s.failPending(tx, w.ID)
}

// failPending fails what is on its way to an endpoint: the workflows find it
// settled and end.
func (s *Store) failPending(tx *gorm.DB, webhook uuid.UUID) error {
	return tx.Model(&models.Delivery{}).Where("webhook_id = ? AND status = ?", webhook, models.DeliveryPending).
		Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
}

// Webhook loads an app's endpoint.
func (s *Store) Webhook(ctx context.Context, app, id uuid.UUID) (*models.Webhook, error) {
	w := &models.Webhook{}
	if err := s.db.WithContext(ctx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return nil, fmt.Errorf("load webhook %s: %w", id, found(err))
	}
	return w, nil
}

// SetWebhookActive pauses or resumes an endpoint. While it is paused it hears of
// nothing; resuming also forgives an endpoint that the service switched off.
func (s *Store) SetWebhookActive(ctx context.Context, app, id uuid.UUID, active bool) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.make(ctx, w, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return found(err)
		}
		w.SetActive(active)
		if err := tx.Model(w).Select("active", "failing_since", "last_error", "disabled_at", "disabled_reason").Updates(w).Error; err != nil || active {
			return err
		}
		return s.failPending(tx, id)
	})
	if err != nil {
		return nil, fmt.Errorf("switch webhook %s: %w", id, err)
	}
	return w, nil
}

// RotateSecret gives an endpoint a new secret; "" makes the client secret sign
// again. The old one signs beside it for the length of overlap.
func (s *Store) RotateSecret(ctx context.Context, app, id uuid.UUID, secret string, overlap time.Duration) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.make(ctx, w, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return found(err)
		}
		old := w.Secret
		if old == nil {
			plain, err := s.clientSecrets(ctx, tx, app)
			if err != nil {
				return err
			}
			old = s.vault.Seal(plain[len(plain)-1], labelWebhookSecret)
		}
		var fresh []byte
		if secret != "" {
			fresh = s.vault.Seal([]byte(secret), labelWebhookSecret)
		}
		w.RotateSecret(fresh, old, s.now().Add(overlap))
		return tx.Model(w).Select("secret", "previous_secret", "previous_until").Updates(w).Error
	})
	if err != nil {
		return nil, fmt.Errorf("rotate secret of webhook %s: %w", id, err)
	}
	return w, nil
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
