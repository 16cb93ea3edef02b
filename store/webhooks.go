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

// MaxWebhooks is how many endpoints an app may register.
const MaxWebhooks = 100

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
		if n >= MaxWebhooks {
			return models.Refuse(models.KindConflict, "too_many_webhooks", "An app may register %d endpoints; delete one first.", MaxWebhooks)
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
		return s.endQueue(tx, id)
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
	if w.PreviousSecret == nil || w.PreviousUntil == nil || !s.now().Before(*w.PreviousUntil) {
		return out, nil
	}
	old, err := s.vault.Open(w.PreviousSecret, labelWebhookSecret)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(secret []byte) bool { return string(secret) == string(old) })
	return append(out, old), nil
}

// Outcome is what a try at a delivery means.
type Outcome struct {
	WebhookID uuid.UUID
	Delivered bool
	Last      bool // there will be no other
	Gone      bool // the endpoint wants no more deliveries
}

// DisableAfter is how long an endpoint may fail without one success before it
// is switched off.
const DisableAfter = 5 * 24 * time.Hour

// RecordAttempt keeps a try at a delivery and settles it: delivered if it went
// well, failed if it was the last. It returns why the endpoint was switched off
// by it, "" if it was not.
func (s *Store) RecordAttempt(ctx context.Context, a models.DeliveryAttempt, o Outcome) (disabled string, err error) {
	a.ID = s.newID()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		var d models.Delivery
		if err := s.locked(tx).Take(&d, "id = ?", a.DeliveryID).Error; err != nil {
			return found(err)
		}
		change := map[string]any{"attempts": d.Attempts + 1}
		a.Number = d.Attempts + 1
		switch {
		case o.Delivered:
			change["status"], change["delivered_at"], change["failed_at"] = models.DeliveryDelivered, a.At, nil
		case o.Last && d.Status == models.DeliveryPending:
			change["status"], change["failed_at"] = models.DeliveryFailed, a.At
		}
		if err := tx.Model(&d).Updates(change).Error; err != nil {
			return err
		}
		if err := tx.Create(sealed(s, &a)).Error; err != nil {
			return err
		}
		disabled, err = s.judge(tx, a, o)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("record attempt at delivery %s: %w", a.DeliveryID, err)
	}
	return disabled, nil
}

// judge notes how the endpoint does, and switches off one that is gone or has
// failed for too long. It writes only what changes: endpoints that do well are
// not locked by their deliveries.
func (s *Store) judge(tx *gorm.DB, a models.DeliveryAttempt, o Outcome) (disabled string, err error) {
	var hooks []models.Webhook
	if err := tx.Where("id = ?", o.WebhookID).Find(&hooks).Error; err != nil || len(hooks) == 0 {
		return "", err
	}
	w := &hooks[0]
	if o.Delivered {
		if w.FailingSince == nil {
			return "", nil
		}
		return "", tx.Model(w).Updates(map[string]any{"failing_since": nil, "last_error": ""}).Error
	}
	why := a.Error
	if why == "" {
		why = fmt.Sprintf("HTTP status %d", a.Status)
	}
	change := map[string]any{"last_error": why}
	since := a.At
	if w.FailingSince == nil {
		change["failing_since"] = since
	} else {
		since = *w.FailingSince
	}
	switch {
	case !w.Active:
	case o.Gone:
		disabled = models.DisabledGone
	case a.At.Sub(since) >= DisableAfter:
		disabled = models.DisabledFailing
	}
	if disabled == "" {
		if w.FailingSince != nil && w.LastError == why {
			return "", nil
		}
		return "", tx.Model(w).Updates(change).Error
	}
	change["active"], change["disabled_at"], change["disabled_reason"] = false, a.At, disabled
	res := tx.Model(w).Where("active").Updates(change)
	if res.Error != nil || res.RowsAffected == 0 {
		return "", res.Error // another delivery was first
	}
	return disabled, s.endQueue(tx, w.ID)
}

// endQueue fails what is on its way to an endpoint: the workflows find it
// settled and end.
func (s *Store) endQueue(tx *gorm.DB, webhook uuid.UUID) error {
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
		change := map[string]any{"active": active}
		if active {
			change["failing_since"], change["last_error"], change["disabled_at"], change["disabled_reason"] = nil, "", nil, ""
		}
		res := tx.Model(&models.Webhook{}).Where("id = ? AND app_id = ?", id, app).Updates(change)
		switch {
		case res.Error != nil:
			return res.Error
		case res.RowsAffected == 0:
			return models.ErrNotFound
		case !active:
			if err := s.endQueue(tx, id); err != nil {
				return err
			}
		}
		return tx.Take(w, "id = ?", id).Error
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
		until := s.now().Add(overlap)
		change := map[string]any{"secret": nil, "previous_secret": old, "previous_until": until}
		if secret != "" {
			change["secret"] = s.vault.Seal([]byte(secret), labelWebhookSecret)
		}
		if err := tx.Model(&models.Webhook{}).Where("id = ?", id).Updates(change).Error; err != nil {
			return err
		}
		*w = models.Webhook{}
		return tx.Take(w, "id = ?", id).Error
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
