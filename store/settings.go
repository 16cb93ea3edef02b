package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// Settings returns a tenant's own choices, and what holds after the app's are
// put below them. Tenant "" asks for the app's.
func (s *Store) Settings(ctx context.Context, app uuid.UUID, tenant string) (own, effective models.Settings, err error) {
	var rows []models.Settings
	if err := s.db.WithContext(ctx).Where("app_id = ? AND tenant_id IN ?", app, []string{"", tenant}).Find(&rows).Error; err != nil {
		return own, effective, fmt.Errorf("load settings: %w", err)
	}
	own = models.Settings{AppID: app, TenantID: tenant}
	var general models.Settings
	for _, r := range rows {
		if r.TenantID == tenant {
			own = r
		}
		if r.TenantID == "" {
			general = r
		}
	}
	return own, own.Over(general), nil
}

// SaveSettings replaces a tenant's choices.
func (s *Store) SaveSettings(ctx context.Context, v models.Settings) error {
	p := models.Problems{}
	if v.TenantID != "" {
		models.CheckText(p, "tenantId", v.TenantID, 1, 255)
	}
	v.Check(p)
	if err := p.Err(); err != nil {
		return err
	}
	v.UpdatedAt = s.now()
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&v).Error; err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	return nil
}
