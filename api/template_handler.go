package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// templateHandler serves templates.
type templateHandler struct {
	subject[templateStore]

	uploads   *uploads
	envelopes *envelopeHandler
	settings  *settingsHandler
	pages     *pageFiles
}

type templateStore interface {
	ArchiveTemplate(ctx context.Context, app, id uuid.UUID, check func(*models.Template) error) (blobKeys []string, err error)
	ChangeTemplate(ctx context.Context, app, id uuid.UUID, fn func(*models.LoadedTemplate) error) (*models.LoadedTemplate, error)
	CreateFromTemplate(ctx context.Context, app, id uuid.UUID, version int, build store.TemplateBuild) (*store.EnvelopeWithEvents, error)
	PlanLimits(plan models.Plan) models.PlanLimits
	PutTemplate(ctx context.Context, at store.TemplateTarget, build func(was *models.LoadedTemplate, from *models.Envelope) (*models.LoadedTemplate, error)) (store.StoredTemplate, error)
	Template(ctx context.Context, app, id uuid.UUID, version int) (*models.LoadedTemplate, error)
	Templates(ctx context.Context, f store.TemplateFilter) ([]*models.Template, error)
}
