package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// AppRepository stores apps and their secrets, settings, branding, contacts and usage.
type AppRepository struct{ *engine }

func (s *AppRepository) register() {
	encryptSecrets(s.engine, "client_secrets", "cipher", labelClientSecret)
	encryptRows(s.engine, func(v *models.App) encryptedRow {
		return encryptedRow{"apps", v.ID.String(), []encryptedColumn{{name: "contact", text: &v.Contact}}}
	})
	encryptRows(s.engine, func(v *models.Contact) encryptedRow {
		return encryptedRow{"contacts", v.ID.String(), []encryptedColumn{
			{name: "name", text: &v.Name}, {name: "email", text: &v.Email}, {name: "phone", text: ownCopy(&v.Phone)},
		}}
	})
	encryptRows(s.engine, func(v *models.Settings) encryptedRow {
		return encryptedRow{"tenant_settings", v.AppID.String() + "/" + v.TenantID, []encryptedColumn{
			{name: "reply_to", text: ownCopy(&v.ReplyTo)}, {name: "notify_email", text: ownCopy(&v.NotifyEmail)},
		}}
	})
	rewrapRows[models.App](s.engine, "id", nil)
	rewrapRows(s.engine, "id", s.rehashContact)
	rewrapRows[models.Settings](s.engine, "app_id, tenant_id", nil)
}

// CreateApp stores a new app, and returns it with its first secret. The secret cannot be retrieved later.
func (s *AppRepository) CreateApp(ctx context.Context, name string, plan models.Plan, tenants []string) (*models.App, string, error) {
	p := models.Problems{}
	models.CheckText(p, "name", name, 1, 255)
	if !plan.Valid() {
		p.Add("plan", "must be free, pro or enterprise")
	}
	checkTenants(p, tenants)
	if err := p.Err(); err != nil {
		return nil, "", err
	}
	a := &models.App{ID: s.newID(), ClientID: uuid.New(), Name: name, Plan: plan, Tenants: append([]string{}, tenants...), CreatedAt: s.now()}
	secret, cs, err := s.newSecret(a.ID)
	if err != nil {
		return nil, "", err
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(encrypt(s.engine, a)).Error; err != nil {
			return err
		}
		return tx.Create(cs).Error
	})
	return a, secret, wrap(err, "create app")
}

func checkTenants(p models.Problems, tenants []string) {
	for i, t := range tenants {
		models.CheckText(p, fmt.Sprintf("tenants[%d]", i), t, 1, 255)
	}
}

// AppChange describes the changes to an app. Nil fields are left unchanged.
type AppChange struct {
	Name, Contact *string
	Plan          *models.Plan
	Tenants       *[]string // empty for all tenants
}

// UpdateApp changes an app.
func (s *AppRepository) UpdateApp(ctx context.Context, id uuid.UUID, c AppChange) (*models.App, error) {
	var a *models.App
	err := s.tx(ctx, func(tx *gorm.DB) (err error) {
		if a, err = oneDecrypted[models.App](s.engine, s.locked(tx), "id = ?", id); err != nil {
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
			if !c.Plan.Valid() {
				p.Add("plan", "must be free, pro or enterprise")
			}
			a.Plan = *c.Plan
		}
		if c.Tenants != nil {
			checkTenants(p, *c.Tenants)
			a.Tenants = append([]string{}, *c.Tenants...)
		}
		if err := p.Err(); err != nil {
			return err
		}
		row := encrypt(s.engine, a)
		return tx.Model(row).Select("*").Updates(row).Error
	})
	return a, wrap(err, "update app %s", id)
}

// PlanLimits returns the limits of a plan.
func (s *AppRepository) PlanLimits(plan models.Plan) models.PlanLimits {
	return s.cfg.Plans.Limits(plan)
}

// AppByAnyID loads an app by its client ID or by its ID.
func (s *AppRepository) AppByAnyID(ctx context.Context, id uuid.UUID) (*models.App, error) {
	a, err := oneDecrypted[models.App](s.engine, s.db.WithContext(ctx).Order("client_id <> '"+id.String()+"'"), "client_id = ? OR id = ?", id, id)
	return a, wrap(err, "find app %s", id)
}

// App loads an app.
func (s *AppRepository) App(ctx context.Context, id uuid.UUID) (*models.App, error) {
	a, err := oneDecrypted[models.App](s.engine, s.db.WithContext(ctx), "id = ?", id)
	return a, wrap(err, "load app %s", id)
}

// SignInApp returns the app that a user joins at the first sign-in through the provider. This is the app with the
// given client ID or, if client is zero, the only app. It returns models.ErrNotFound unless exactly one app matches.
func (s *AppRepository) SignInApp(ctx context.Context, client uuid.UUID) (*models.App, error) {
	found, err := find[*models.App](whereNonZero(s.db.WithContext(ctx).Limit(2), "client_id = ?", client))
	if err != nil {
		return nil, fmt.Errorf("find app for sign-in: %w", err)
	}
	if len(found) != 1 {
		return nil, models.ErrNotFound
	}
	return found[0], decrypt(s.engine, found[0])
}
