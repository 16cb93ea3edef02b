package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ClientSecrets lists an app's client secrets that are still good, newest first,
// without what they are.
func (s *Store) ClientSecrets(ctx context.Context, app uuid.UUID) ([]models.ClientSecret, error) {
	out := []models.ClientSecret{}
	err := s.db.WithContext(ctx).Select("id", "app_id", "created_at", "expires_at").
		Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, s.now()).Order("created_at DESC, id DESC").Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list client secrets: %w", err)
	}
	return out, nil
}

// EndClientSecret ends one of an app's client secrets at once. The newest one
// stays: an app without a secret could neither log in nor sign its webhooks.
func (s *Store) EndClientSecret(ctx context.Context, app, id uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&models.App{}, "id = ?", app).Error; err != nil { // one after the other
			return found(err)
		}
		now := s.now()
		var live []models.ClientSecret
		err := tx.Select("id").Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, now).
			Order("created_at DESC, id DESC").Find(&live).Error
		if err != nil {
			return err
		}
		for i := range live {
			if live[i].ID != id {
				continue
			}
			if i == 0 {
				return models.Refuse(models.KindConflict, "secret_newest", "The newest secret cannot be ended; make another one first.")
			}
			return tx.Model(&models.ClientSecret{}).Where("id = ?", id).Update("expires_at", now).Error
		}
		return models.ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("end client secret %s: %w", id, err)
	}
	return nil
}
