package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// CreateWebhook registers an endpoint. With secret "" its deliveries are
// signed with the app's client secret.
func (s *Store) CreateWebhook(
	ctx context.Context, app uuid.UUID, url string, events []models.EventName, secret string, include ...models.WebhookInclude,
) (*models.Webhook, error) {
	w := &models.Webhook{ID: s.newID(), AppID: app, URL: url, Events: events, Include: include, Active: true, CreatedAt: s.now()}
	if secret != "" {
		w.Secret = s.vault.Encrypt([]byte(secret), labelWebhookSecret)
	}
	err := s.make(ctx, w, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&models.App{}, "id = ?", app).Error; err != nil { // one after the other
			return mapNotFound(err)
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

// Webhook loads an app's endpoint.
func (s *Store) Webhook(ctx context.Context, app, id uuid.UUID) (*models.Webhook, error) {
	w := &models.Webhook{}
	if err := s.db.WithContext(ctx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return nil, fmt.Errorf("load webhook %s: %w", id, mapNotFound(err))
	}
	return w, nil
}

// SetWebhookActive pauses or resumes an endpoint. While it is paused it hears of
// nothing; resuming also forgives an endpoint that the service switched off.
func (s *Store) SetWebhookActive(ctx context.Context, app, id uuid.UUID, active bool) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.make(ctx, w, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
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
			return mapNotFound(err)
		}
		if err := s.rotateSecret(ctx, tx, w, secret, overlap); err != nil {
			return err
		}
		return tx.Model(w).Select("secret", "previous_secret", "previous_until").Updates(w).Error
	})
	if err != nil {
		return nil, fmt.Errorf("rotate secret of webhook %s: %w", id, err)
	}
	return w, nil
}

func (s *Store) rotateSecret(ctx context.Context, tx *gorm.DB, w *models.Webhook, secret string, overlap time.Duration) error {
	old := w.Secret
	if old == nil {
		plain, err := s.clientSecrets(ctx, tx, w.AppID)
		if err != nil {
			return err
		}
		old = s.vault.Encrypt(plain[len(plain)-1], labelWebhookSecret)
	}
	var fresh []byte
	if secret != "" {
		fresh = s.vault.Encrypt([]byte(secret), labelWebhookSecret)
	}
	w.RotateSecret(fresh, old, s.now().Add(overlap))
	return nil
}

// WebhookPatch is what is to be changed of an endpoint in one step; nil leaves it.
type WebhookPatch struct {
	models.WebhookChange

	Active  *bool
	Secret  *string // "": the client secret signs
	Overlap time.Duration
}

// PatchWebhook changes an endpoint, all of it or nothing.
func (s *Store) PatchWebhook(ctx context.Context, app, id uuid.UUID, c WebhookPatch) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		w.Change(c.WebhookChange)
		if c.Secret != nil {
			if err := s.rotateSecret(ctx, tx, w, *c.Secret, c.Overlap); err != nil {
				return err
			}
		}
		if c.Active != nil {
			w.SetActive(*c.Active)
		}
		err := tx.Model(w).Select("url", "events", "include", "active", "secret", "previous_secret", "previous_until", "failing_since", "last_error",
			"disabled_at", "disabled_reason").Updates(w).Error
		if err != nil || c.Active == nil || *c.Active {
			return err
		}
		return s.failPending(tx, id)
	})
	if err != nil {
		return nil, fmt.Errorf("patch webhook %s: %w", id, err)
	}
	return w, nil
}

// UpdateWebhook changes an endpoint. Deliveries on their way go to the new address.
func (s *Store) UpdateWebhook(ctx context.Context, app, id uuid.UUID, c models.WebhookChange) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		w.Change(c)
		return tx.Model(w).Select("url", "events", "include", "failing_since", "last_error").Updates(w).Error
	})
	if err != nil {
		return nil, fmt.Errorf("update webhook %s: %w", id, err)
	}
	return w, nil
}
