package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/models"
)

// portalHandler serves downloads and receipts to recipients.
type portalHandler struct {
	subject[portalStore]

	branding *brandingHandler
	pages    *pageFiles
}

type portalStore interface {
	Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error)
	Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	Settings(ctx context.Context, app uuid.UUID, tenant string) (own models.Settings, effective models.Settings, err error)
}
