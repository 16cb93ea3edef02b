package store

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

var brandingNames = []string{"primaryColor", "senderName", "replyTo", "footer", "supportUrl", "logo"}

// Branding returns the branding that a tenant has configured.
func (s *AppRepository) Branding(ctx context.Context, app uuid.UUID, tenant string) (models.Branding, error) {
	own, _, err := s.Settings(ctx, app, tenant)
	if err != nil {
		return models.Branding{}, err
	}
	b := models.Branding{Settings: own}
	if own.LogoSHA256 != nil {
		b.Logo, err = s.Logo(ctx, app, tenant)
	}
	return b, err
}

// ChangeBranding changes the settings with the given JSON names, and keeps the others. The settings and the logo are
// saved in one transaction.
func (s *AppRepository) ChangeBranding(ctx context.Context, app uuid.UUID, tenant string, b models.Branding, names []string) error {
	v := b.Settings
	v.AppID, v.TenantID = app, tenant
	return s.tx(ctx, func(tx *gorm.DB) error {
		columns := make([]string, 0, len(names))
		for _, name := range names {
			if name != "logo" {
				columns = append(columns, name)
				continue
			}
			columns = append(columns, "logoSha256")
			if b.Logo != nil {
				v.LogoSHA256 = new(fmt.Sprintf("%x", sha256.Sum256(b.Logo)))
			}
			if err := saveLogo(tx, v, b.Logo); err != nil {
				return err
			}
		}
		return s.changeSettings(tx, v, columns)
	})
}

// saveLogo stores a logo, or deletes the stored logo if png is nil.
func saveLogo(tx *gorm.DB, v models.Settings, png []byte) error {
	row := models.TenantLogo{AppID: v.AppID, TenantID: v.TenantID, PNG: png}
	var err error
	if png == nil {
		err = tx.Where("app_id = ? AND tenant_id = ?", v.AppID, v.TenantID).Delete(&models.TenantLogo{}).Error
	} else {
		row.SHA256 = *v.LogoSHA256
		err = tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
	}
	return wrap(err, "save logo")
}

// ClearBranding resets a tenant's branding to the default.
func (s *AppRepository) ClearBranding(ctx context.Context, app uuid.UUID, tenant string) error {
	return s.ChangeBranding(ctx, app, tenant, models.Branding{}, brandingNames)
}

// Logo returns a tenant's logo as PNG, or nil if there is none.
func (s *AppRepository) Logo(ctx context.Context, app uuid.UUID, tenant string) ([]byte, error) {
	row, err := first[models.TenantLogo](s.db.WithContext(ctx).Where("app_id = ? AND tenant_id = ?", app, tenant))
	if err != nil || row == nil {
		return nil, wrap(err, "load logo")
	}
	return row.PNG, nil
}
