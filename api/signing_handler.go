package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/notify"
)

// signingHandler serves the API of the signing page.
type signingHandler struct {
	subject[signingStore]

	uploads   *uploads
	envelopes *envelopeHandler
	settings  *settingsHandler
	branding  *brandingHandler
	pages     *pageFiles

	codes             *credential.Codes
	mail              Mailer
	declineNeedsCode  bool
	codeBeforeReading bool
}

type signingStore interface {
	App(ctx context.Context, id uuid.UUID) (*models.App, error)
	Attachments(ctx context.Context, envelope uuid.UUID) ([]*models.Attachment, error)
	Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error)
	ChangeAttachments(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope, []*models.Attachment) error) (*models.Envelope, error)
	Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	Logo(ctx context.Context, app uuid.UUID, tenant string) ([]byte, error)
	RemoveAttachment(ctx context.Context, id uuid.UUID) (bool, error)
	SavedSignature(ctx context.Context, e *models.Envelope, signer *models.Signer) (*models.SavedSignature, error)
	Settings(ctx context.Context, app uuid.UUID, tenant string) (own models.Settings, effective models.Settings, err error)
	Value(ctx context.Context, e *models.Envelope, field uuid.UUID) (*models.FieldValue, error)
	ValuesWithoutPictures(ctx context.Context, e *models.Envelope) ([]models.FieldValue, error)
}

// Mailer sends one-time codes by email.
type Mailer interface {
	Send(ctx context.Context, m notify.Mail) error
	MessageID(parts ...string) string
}
