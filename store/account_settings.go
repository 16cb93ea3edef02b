package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// Settings returns a tenant's own settings, and the effective settings that include the app's defaults. For an empty
// tenant, it returns the app's settings.
func (s *AppRepository) Settings(ctx context.Context, app uuid.UUID, tenant string) (own, effective models.Settings, err error) {
	rows, err := findDecrypted[models.Settings](s.engine, s.db.WithContext(ctx).Where("app_id = ? AND tenant_id IN ?", app, []string{"", tenant}))
	if err != nil {
		return own, effective, fmt.Errorf("load settings: %w", err)
	}
	own = models.Settings{AppID: app, TenantID: tenant}
	var general models.Settings
	for _, r := range rows {
		if r.TenantID == tenant {
			own = *r
		}
		if r.TenantID == "" {
			general = *r
		}
	}
	return own, own.WithDefaults(general), nil
}

// SaveSettings replaces all settings of a tenant.
func (s *AppRepository) SaveSettings(ctx context.Context, v models.Settings) error {
	return s.saveSettings(s.db.WithContext(ctx), v, clause.OnConflict{UpdateAll: true})
}

// ChangeSettings changes the settings of a tenant with the given JSON names, and keeps the others.
func (s *AppRepository) ChangeSettings(ctx context.Context, v models.Settings, names []string) error {
	return s.changeSettings(s.db.WithContext(ctx), v, names)
}

func (s *AppRepository) changeSettings(db *gorm.DB, v models.Settings, names []string) error {
	columns := []string{"updated_at"}
	for _, name := range names {
		columns = append(columns, s.db.NamingStrategy.ColumnName("", name))
	}
	return s.saveSettings(db, v, clause.OnConflict{
		Columns: []clause.Column{{Name: "app_id"}, {Name: "tenant_id"}}, DoUpdates: clause.AssignmentColumns(columns),
	})
}

func (s *AppRepository) saveSettings(db *gorm.DB, v models.Settings, where clause.OnConflict) error {
	p := models.Problems{}
	if v.TenantID != "" {
		models.CheckText(p, "tenantId", v.TenantID, 1, 255)
	}
	v.Check(p)
	if err := p.Err(); err != nil {
		return err
	}
	v.UpdatedAt = s.now()
	return wrap(db.Clauses(where).Create(encrypt(s.engine, &v)).Error, "save settings")
}
