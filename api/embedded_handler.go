package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"countersign/models"
)

// embeddedHandler serves embedded sessions and their pages.
type embeddedHandler struct {
	subject[embeddedStore]

	envelopes *envelopeHandler

	embedURL    string
	pages       http.Handler
	development bool // allow pages at http://localhost
}

type embeddedStore interface {
	BuilderSessionByToken(ctx context.Context, hash []byte) (*models.BuilderSession, error)
	CreateBuilderSession(ctx context.Context, b *models.BuilderSession) error
	CreateEmbeddedSession(ctx context.Context, session *models.EmbeddedSession, fn func(*models.Envelope) error) error
	EmbeddedSessionByToken(ctx context.Context, hash []byte) (*models.EmbeddedSession, error)
	Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	Template(ctx context.Context, app, id uuid.UUID, version int) (*models.LoadedTemplate, error)
	RevokeBuilderSession(ctx context.Context, app *models.App, id uuid.UUID) error
	RevokeEmbeddedSession(ctx context.Context, app *models.App, id uuid.UUID) error
}
