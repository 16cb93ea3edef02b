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
	Label      string // one of its labels; "": any
	Archived   bool   // those that are archived; else those that are not
	Page, Size int    // from 1
	After      uuid.UUID
}

// Templates lists templates, newest first, one more than a page if there are more, with the
// number of all that match.
func (s *TemplateRepository) Templates(ctx context.Context, f TemplateFilter) ([]*models.Template, int64, error) {
	return listFromReplica(ctx, s.engine, func(e *engine) ([]*models.Template, int64, error) {
		return (&TemplateRepository{engine: e}).templates(ctx, f)
	})
}

func (s *TemplateRepository) templates(ctx context.Context, f TemplateFilter) ([]*models.Template, int64, error) {
	q := s.db.WithContext(ctx).Model(&models.Template{}).Where("app_id = ?", f.App)
	if f.Archived {
		q = q.Where("archived_at IS NOT NULL")
	} else {
		q = q.Where("archived_at IS NULL")
	}
	if f.Tenant != "" {
		q = q.Where("tenant_id IN ?", []string{f.Tenant, ""})
	}
	q = s.labeled(whereGiven(q, "external_id = ?", f.ExternalID), f.Label)
	if f.Text != "" {
		return templatesNamed(q, f)
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

// namesAtOnce is how many names of templates are read in one statement.
const namesAtOnce = 1000

// templatesNamed returns the templates with the text in their names, in the order of Templates. Names are compared
// here as in a search for envelopes: in SQLite, and in PostgreSQL depending on the database's locale, lower may know
// ASCII letters only.
func templatesNamed(q *gorm.DB, f TemplateFilter) (out []*models.Template, total int64, err error) {
	text, skip := normalizeForSearch(f.Text), int64((f.Page-1)*f.Size)
	if f.After != uuid.Nil {
		skip = 0
	}
	var ids []uuid.UUID // of the page, and of one more
	for last, more := uuid.Max, true; more; {
		var names []struct {
			ID   uuid.UUID
			Name string
		}
		if err := q.Session(&gorm.Session{}).Select("id, name").Where("id < ?", last).Order("id DESC").Limit(namesAtOnce).Find(&names).Error; err != nil {
			return nil, 0, fmt.Errorf("list templates by name: %w", err)
		}
		more = len(names) == namesAtOnce
		for _, v := range names {
			last = v.ID
			if !strings.Contains(normalizeForSearch(v.Name), text) {
				continue
			}
			total++
			switch {
			case f.After != uuid.Nil && !before(v.ID, f.After), len(ids) > f.Size:
			case skip > 0:
				skip--
			default:
				ids = append(ids, v.ID)
			}
		}
	}
	if len(ids) > 0 {
		out, err = find[*models.Template](q.Session(&gorm.Session{}).Where("id IN ?", ids).Order("id DESC"))
	}
	return out, total, wrap(err, "list templates by name")
}
