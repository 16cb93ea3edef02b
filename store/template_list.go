package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// TemplateFilter selects templates for a list.
type TemplateFilter struct {
	App        uuid.UUID
	Tenant     string // those of the tenant, and those for all; "": of any
	ExternalID string // "": any
	Text       string // part of the name; "": any
	Archived   bool   // those that are archived; else those that are not
	Page, Size int    // from 1
	After      uuid.UUID
}

// Templates lists templates, newest first, one more than a page if there are more, with the
// number of all that match.
func (s *Store) Templates(ctx context.Context, f TemplateFilter) ([]*models.Template, int64, error) {
	return listFromReplica(ctx, s, f, (*Store).templates)
}

func (s *Store) templates(ctx context.Context, f TemplateFilter) ([]*models.Template, int64, error) {
	q := s.db.WithContext(ctx).Model(&models.Template{}).Where("app_id = ?", f.App)
	if f.Archived {
		q = q.Where("archived_at IS NOT NULL")
	} else {
		q = q.Where("archived_at IS NULL")
	}
	if f.Tenant != "" {
		q = q.Where("tenant_id IN ?", []string{f.Tenant, ""})
	}
	q = whereGiven(q, "external_id = ?", f.ExternalID)
	if f.Text != "" {
		q = q.Where(`lower(name) LIKE ? ESCAPE '\'`, containsPattern(strings.ToLower(f.Text)))
	}
	total, err := count(q.Session(&gorm.Session{}))
	if err != nil {
		return nil, 0, fmt.Errorf("list templates: %w", err)
	}
	page := q.Session(&gorm.Session{}).Order("id DESC").Limit(f.Size + 1)
	if f.After != uuid.Nil {
		page = page.Where("id < ?", f.After)
	} else {
		page = page.Offset((f.Page - 1) * f.Size)
	}
	out, err := find[*models.Template](page)
	return out, total, wrap(err, "list templates")
}
