package store

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"
	"gorm.io/gorm"

	"countersign/models"
)

// Labels under which the vault keeps what.
const (
	labelClientSecret  = "client-secret"
	labelWebhookSecret = "webhook-secret"
	labelSigningKey    = "signing-key"
)

// CreateApp stores a new app and returns it with its first secret, which is
// shown only now.
func (s *Store) CreateApp(ctx context.Context, name string, plan models.Plan, tenants []string) (*models.App, string, error) {
	p := models.Problems{}
	models.CheckText(p, "name", name, 1, 255)
	if _, ok := plan.Limits(); !ok {
		p.Add("plan", "must be free, pro or enterprise")
	}
	for i, t := range tenants {
		models.CheckText(p, fmt.Sprintf("tenants[%d]", i), t, 1, 255)
	}
	if err := p.Err(); err != nil {
		return nil, "", err
	}
	secret := "cs_" + rand.Text() + rand.Text() // 2 × 130 bits
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.DefaultCost)
	if err != nil {
		return nil, "", fmt.Errorf("hash client secret: %w", err)
	}
	a := &models.App{ID: s.newID(), Name: name, Plan: plan, Tenants: append([]string{}, tenants...), CreatedAt: s.now()}
	cs := &models.ClientSecret{
		ID: s.newID(), AppID: a.ID, Hash: hash, Cipher: s.vault.Seal([]byte(secret), labelClientSecret), CreatedAt: a.CreatedAt,
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(a).Error; err != nil {
			return err
		}
		return tx.Create(cs).Error
	})
	if err != nil {
		return nil, "", fmt.Errorf("create app: %w", err)
	}
	return a, secret, nil
}

// App loads an app.
func (s *Store) App(ctx context.Context, id uuid.UUID) (*models.App, error) {
	a := &models.App{}
	if err := s.db.WithContext(ctx).Take(a, "id = ?", id).Error; err != nil {
		return nil, fmt.Errorf("load app %s: %w", id, found(err))
	}
	return a, nil
}

// decoyHash makes the answer to an unknown client take as long as to a wrong secret.
var decoyHash = []byte("$2a$10$7EqJtq98hPqEX7fNZaFWoOhi5yjzWmC.5pjz7pTgAE5lKQ5xqG3pK")

// Authenticate returns the app that the credentials belong to, or
// models.ErrNotFound, without telling which part was wrong.
func (s *Store) Authenticate(ctx context.Context, clientID, secret string) (*models.App, error) {
	id, err := uuid.Parse(clientID)
	var secrets []models.ClientSecret
	if err == nil {
		now := s.now()
		err = s.db.WithContext(ctx).Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", id, now).Find(&secrets).Error
		if err != nil {
			return nil, fmt.Errorf("load client secrets: %w", err)
		}
	}
	if len(secrets) == 0 {
		_ = bcrypt.CompareHashAndPassword(decoyHash, []byte(secret)) // only for the time it takes
		return nil, models.ErrNotFound
	}
	for _, cs := range secrets {
		if bcrypt.CompareHashAndPassword(cs.Hash, []byte(secret)) == nil {
			return s.App(ctx, id)
		}
	}
	return nil, models.ErrNotFound
}

// clientSecret is the app's newest live secret, in clear.
func (s *Store) clientSecret(ctx context.Context, db *gorm.DB, app uuid.UUID) ([]byte, error) {
	var cs models.ClientSecret
	err := db.WithContext(ctx).Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, s.now()).
		Order("created_at DESC").Take(&cs).Error
	if err != nil {
		return nil, fmt.Errorf("load client secret: %w", found(err))
	}
	return s.vault.Open(cs.Cipher, labelClientSecret)
}
