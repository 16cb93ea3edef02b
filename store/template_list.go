package store

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// TemplateFilter selects templates for a list. Empty fields do not restrict the list, except for Archived.
type TemplateFilter struct {
	App        uuid.UUID
	Tenant     string // selects the tenant's templates and the templates for all tenants
	ExternalID string
	Text       string    // part of the name
	Label      string    // one of the template's labels
	Archived   bool      // lists either archived or active templates
	After      uuid.UUID // lists only templates older than this one
	Limit      int
}

// Templates lists templates, newest first.
func (s *TemplateRepository) Templates(ctx context.Context, f TemplateFilter) (list []*models.Template, err error) {
	err = s.fromReplica(ctx, func(e *engine) error {
		q := templatesAfter(e, e.db.WithContext(ctx), f)
		if f.Text != "" {
			list, err = templatesNamed(q, f.Text, f.Limit)
		} else {
			list, err = find[*models.Template](q.Limit(f.Limit))
		}
		return err
	})
	return list, wrap(err, "list templates")
}

// templatesAfter returns the query of Templates, without the condition on names.
func templatesAfter(s *engine, db *gorm.DB, f TemplateFilter) *gorm.DB {
	q := db.Model(&models.Template{}).Where("app_id = ?", f.App)
	if f.Archived {
		q = q.Where("archived_at IS NOT NULL")
	} else {
		q = q.Where("archived_at IS NULL")
	}
	if f.Tenant != "" {
		q = q.Where("tenant_id IN ?", []string{f.Tenant, ""})
	}
	q = s.labeled(whereNonZero(q, "external_id = ?", f.ExternalID), f.Label)
	return whereNonZero(q, "id < ?", f.After).Order("id DESC")
}

// namesAtOnce is the number of template names that one statement reads.
const namesAtOnce = 1000

// templatesNamed returns the first templates of a query whose names contain the given text. It compares names in the
// same way as a search for envelopes. It does not use the SQL function lower. In SQLite, and in PostgreSQL with
// certain locales, that function converts only ASCII letters.
func templatesNamed(q *gorm.DB, text string, limit int) ([]*models.Template, error) {
	text = normalizeForSearch(text)
	q = q.Session(&gorm.Session{})
	var ids []uuid.UUID
	for last, more := uuid.Max, true; more && len(ids) < limit; {
		var names []struct {
			ID   uuid.UUID
			Name string
		}
		if err := q.Select("id, name").Where("id < ?", last).Limit(namesAtOnce).Find(&names).Error; err != nil {
			return nil, err
		}
		more = len(names) == namesAtOnce
		for _, v := range names {
			last = v.ID
			if strings.Contains(normalizeForSearch(v.Name), text) {
				ids = append(ids, v.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return find[*models.Template](q.Where("id IN ?", ids[:min(len(ids), limit)]))
}
