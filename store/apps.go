package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

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
	if !plan.Known() {
		p.Add("plan", "must be free, pro or enterprise")
	}
	for i, t := range tenants {
		models.CheckText(p, fmt.Sprintf("tenants[%d]", i), t, 1, 255)
	}
	if err := p.Err(); err != nil {
		return nil, "", err
	}
	a := &models.App{ID: s.newID(), ClientID: uuid.New(), Name: name, Plan: plan, Tenants: append([]string{}, tenants...), CreatedAt: s.now()}
	secret, cs, err := s.newSecret(a.ID)
	if err != nil {
		return nil, "", err
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(sealed(s, a)).Error; err != nil {
			return err
		}
		return tx.Create(cs).Error
	})
	if err != nil {
		return nil, "", fmt.Errorf("create app: %w", err)
	}
	return a, secret, nil
}

// AppChange is what can be changed of an app; nil leaves it.
type AppChange struct {
	Name, Contact *string
	Plan          *models.Plan
	Tenants       *[]string // empty: all
}

// UpdateApp changes an app.
func (s *Store) UpdateApp(ctx context.Context, id uuid.UUID, c AppChange) (*models.App, error) {
	var a models.App
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&a, "id = ?", id).Error; err != nil {
			return found(err)
		}
		if err := unseal(s, &a); err != nil {
			return err
		}
		p := models.Problems{}
		if c.Name != nil {
			models.CheckText(p, "name", *c.Name, 1, 255)
			a.Name = *c.Name
		}
		if c.Contact != nil {
			if *c.Contact != "" {
				models.CheckEmail(p, "contact", *c.Contact)
			}
			a.Contact = *c.Contact
		}
		if c.Plan != nil {
			if !c.Plan.Known() {
				p.Add("plan", "must be free, pro or enterprise")
			}
			a.Plan = *c.Plan
		}
		if c.Tenants != nil {
			for i, t := range *c.Tenants {
				models.CheckText(p, fmt.Sprintf("tenants[%d]", i), t, 1, 255)
			}
			a.Tenants = append([]string{}, *c.Tenants...)
		}
		if err := p.Err(); err != nil {
			return err
		}
		row := sealed(s, &a)
		return tx.Model(row).Select("*").Updates(row).Error
	})
	if err != nil {
		return nil, fmt.Errorf("update app %s: %w", id, err)
	}
	return &a, nil
}

// AddSecret gives an app another secret, shown only now. The ones before stay
// good for the length of overlap, and no longer.
func (s *Store) AddSecret(ctx context.Context, app uuid.UUID, overlap time.Duration) (string, error) {
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
				return found(err)
			}
		}
		return tx.Create(cs).Error
	})
	if err != nil {
		return "", fmt.Errorf("add secret to app %s: %w", app, err)
	}
	return secret, nil
}

func (s *Store) newSecret(app uuid.UUID) (string, *models.ClientSecret, error) {
	secret := "cs_" + rand.Text() + rand.Text() // 2 × 130 bits
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.DefaultCost)
	if err != nil {
		return "", nil, fmt.Errorf("hash client secret: %w", err)
	}
	return secret, &models.ClientSecret{
		ID: s.newID(), AppID: app, Hash: hash, Cipher: s.vault.Seal([]byte(secret), labelClientSecret), CreatedAt: s.now(),
	}, nil
}

// PlanLimits is what a plan allows.
func (s *Store) PlanLimits(plan models.Plan) models.PlanLimits { return s.plans.Limits(plan) }

// AppOf finds an app by its client id, or by its own id.
func (s *Store) AppOf(ctx context.Context, id uuid.UUID) (*models.App, error) {
	a := &models.App{}
	if err := s.db.WithContext(ctx).Order("client_id <> '"+id.String()+"'").Take(a, "client_id = ? OR id = ?", id, id).Error; err != nil {
		return nil, fmt.Errorf("find app %s: %w", id, found(err))
	}
	return a, unseal(s, a)
}

// App loads an app.
func (s *Store) App(ctx context.Context, id uuid.UUID) (*models.App, error) {
	a := &models.App{}
	if err := s.db.WithContext(ctx).Take(a, "id = ?", id).Error; err != nil {
		return nil, fmt.Errorf("load app %s: %w", id, found(err))
	}
	return a, unseal(s, a)
}

// decoyHash makes the answer to an unknown client take as long as to a wrong secret.
var decoyHash = []byte("$2a$10$7EqJtq98hPqEX7fNZaFWoOhi5yjzWmC.5pjz7pTgAE5lKQ5xqG3pK")

// Authenticate returns the app that the credentials belong to, or
// models.ErrNotFound, without telling which part was wrong.
func (s *Store) Authenticate(ctx context.Context, clientID, secret string) (*models.App, error) {
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
		_ = bcrypt.CompareHashAndPassword(decoyHash, []byte(secret)) // only for the time it takes
		return nil, models.ErrNotFound
	}
	for _, cs := range secrets {
		if bcrypt.CompareHashAndPassword(cs.Hash, []byte(secret)) == nil {
			return s.App(ctx, cs.AppID)
		}
	}
	return nil, models.ErrNotFound
}

// clientSecrets are the app's live secrets, in clear, the newest first.
func (s *Store) clientSecrets(ctx context.Context, db *gorm.DB, app uuid.UUID) ([][]byte, error) {
	var rows []models.ClientSecret
	err := db.WithContext(ctx).Where("app_id = ? AND (expires_at IS NULL OR expires_at > ?)", app, s.now()).
		Order("created_at DESC, id DESC").Find(&rows).Error
	if err == nil && len(rows) == 0 {
		err = models.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("load client secrets: %w", err)
	}
	out := make([][]byte, 0, len(rows))
	for _, cs := range rows {
		plain, err := s.vault.Open(cs.Cipher, labelClientSecret)
		if err != nil {
			return nil, fmt.Errorf("open client secret %s: %w", cs.ID, err)
		}
		out = append(out, plain)
	}
	return out, nil
}
