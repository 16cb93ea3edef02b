package store

import (
	"context"

	"github.com/google/uuid"

	"countersign/models"
)

// ArchiveTemplate archives an app's template, so that no more envelopes can be created from it. It returns the storage
// keys of the released files. Archiving the template again has no effect. If check returns an error, the template is
// not archived.
func (s *TemplateRepository) ArchiveTemplate(ctx context.Context, app, id uuid.UUID, check func(*models.Template) error) (blobKeys []string, err error) {
	err = s.transact(ctx, readWrite, func(t *transaction) error {
		s.lockTemplate(&t.batch, id, false)
		var found []*models.Template
		selectRows(&t.batch, &found, templateRows, "id = $1 AND app_id = $2"+s.forUpdate(true), id, app)
		t.query(func(r row) error {
			var key, prepared string
			err := r.Scan(&key, &prepared)
			blobKeys = append(blobKeys, key)
			if prepared != "" {
				blobKeys = append(blobKeys, prepared)
			}
			return err
		}, "SELECT DISTINCT blob_key, prepared_key FROM template_documents WHERE template_id = $1", id)
		if err := t.send(); err != nil {
			return err
		}
		if len(found) == 0 {
			return models.ErrNotFound
		}
		if err := check(found[0]); err != nil || found[0].ArchivedAt != nil {
			return err
		}
		at := s.now()
		t.exec("UPDATE templates SET archived_at = $1, updated_at = $1 WHERE id = $2", at, id)
		t.exec("UPDATE template_documents SET released = $1 WHERE template_id = $2", true, id)
		return nil
	})
	return blobKeys, wrap(err, "archive template %s", id)
}

// TemplateArchived reports whether an app's template is archived.
func (s *TemplateRepository) TemplateArchived(ctx context.Context, app, id uuid.UUID) (bool, error) {
	var t models.Template
	err := s.db.WithContext(ctx).Select("archived_at").Take(&t, "id = ? AND app_id = ?", id, app).Error
	return t.ArchivedAt != nil, wrap(mapNotFound(err), "load template %s", id)
}
