package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"
	"gorm.io/gorm"

	"countersign/models"
)

const labelClientSecret = "client-secret"

// ClientSecrets lists an app's valid client secrets without their values, newest first.
func (s *AppRepository) ClientSecrets(ctx context.Context, app uuid.UUID) ([]models.ClientSecret, error) {
	out, err := find[models.ClientSecret](s.liveSecrets(s.db.WithContext(ctx), app).Select("id", "app_id", "created_at", "expires_at"))
	return out, wrap(err, "list client secrets")
}

// liveSecrets selects an app's client secrets that are still valid, newest first.
func (s *AppRepository) liveSecrets(db *gorm.DB, app uuid.UUID) *gorm.DB {
	return db.Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, s.now()).Order("created_at DESC, id DESC")
}

// EndClientSecret ends one of an app's client secrets immediately. The newest secret cannot be ended, because an app
// without a secret could neither log in nor sign its webhooks.
func (s *AppRepository) EndClientSecret(ctx context.Context, app, id uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&models.App{}, "id = ?", app).Error; err != nil { // serializes concurrent calls
			return mapNotFound(err)
		}
		live, err := find[*models.ClientSecret](s.liveSecrets(tx, app).Select("id"))
		if err != nil {
			return err
		}
		switch slices.IndexFunc(live, func(c *models.ClientSecret) bool { return c.ID == id }) {
		case -1:
			return models.ErrNotFound
		case 0:
			return models.Reject(models.KindConflict, "secret_newest", "The newest secret cannot be revoked. Create another one first.")
		}
		return tx.Model(&models.ClientSecret{}).Where("id = ?", id).Update("expires_at", s.now()).Error
	})
	return wrap(err, "revoke client secret %s", id)
}

// AddSecret adds a secret to an app, and returns it. The secret cannot be retrieved later. Earlier secrets expire after
// the given overlap.
func (s *AppRepository) AddSecret(ctx context.Context, app uuid.UUID, overlap time.Duration) (string, error) {
	secret, cs, err := s.newSecret(app)
	if err != nil {
		return "", err
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		until := s.now().Add(overlap)
		res := tx.Model(&models.ClientSecret{}).Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, until).Update("expires_at", until)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			if err := tx.Take(&models.App{}, "id = ?", app).Error; err != nil {
				return mapNotFound(err)
			}
		}
		return tx.Create(cs).Error
	})
	return secret, wrap(err, "add secret to app %s", app)
}

func (s *AppRepository) newSecret(app uuid.UUID) (string, *models.ClientSecret, error) {
	secret := "cs_" + rand.Text() + rand.Text() // 2 × 130 bits
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), s.cfg.PasswordCost)
	if err != nil {
		return "", nil, fmt.Errorf("hash client secret: %w", err)
	}
	return secret, &models.ClientSecret{
		ID: s.newID(), AppID: app, Hash: hash, Cipher: s.vault.Encrypt([]byte(secret), labelClientSecret), CreatedAt: s.now(),
	}, nil
}

// decoyHash is compared when the client is unknown, so that authentication takes as long as with a wrong secret.
var decoyHash = []byte("$2a$10$7EqJtq98hPqEX7fNZaFWoOhi5yjzWmC.5pjz7pTgAE5lKQ5xqG3pK")

// Authenticate returns the app with the given credentials. If they are invalid, it returns models.ErrNotFound without
// revealing which part was wrong.
func (s *AppRepository) Authenticate(ctx context.Context, clientID, secret string) (*models.App, error) {
	id, err := uuid.Parse(clientID)
	var secrets []models.ClientSecret
	if err == nil {
		err = s.db.WithContext(ctx).Joins("JOIN apps ON apps.id = client_secrets.app_id").
			Where("apps.client_id = ? AND (expires_at IS NULL OR expires_at > ?)", id, s.now()).Find(&secrets).Error
		if err != nil {
			return nil, fmt.Errorf("load client secrets: %w", err)
		}
	}
	if len(secrets) == 0 {
		_ = bcrypt.CompareHashAndPassword(decoyHash, []byte(secret)) // takes the same time as for a known client
		return nil, models.ErrNotFound
	}
	for _, cs := range secrets {
		if bcrypt.CompareHashAndPassword(cs.Hash, []byte(secret)) == nil {
			return s.App(ctx, cs.AppID)
		}
	}
	return nil, models.ErrNotFound
}

// clientSecrets returns the app's valid secrets in plain text, newest first.
func (s *AppRepository) clientSecrets(db *gorm.DB, app uuid.UUID) ([][]byte, error) {
	rows, err := find[models.ClientSecret](s.liveSecrets(db, app))
	if err == nil && len(rows) == 0 {
		err = models.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("load client secrets: %w", err)
	}
	out := make([][]byte, 0, len(rows))
	for _, cs := range rows {
		plain, err := s.vault.Decrypt(cs.Cipher, labelClientSecret)
		if err != nil {
			return nil, fmt.Errorf("decrypt client secret %s: %w", cs.ID, err)
		}
		out = append(out, plain)
	}
	return out, nil
}
