package api

import (
	"context"
	"io"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

// envelopeHandler serves envelopes. This includes lists, drafts, sending and corrections.
type envelopeHandler struct {
	subject[envelopeStore]

	uploads  *uploads
	settings *settingsHandler
	// fromTemplate creates an envelope from a template for a request that contains a templateId.
	fromTemplate func(*gin.Context, caller, *object) error

	signingURL   string
	workflows    Workflows
	workflowsURL string // base URL of workflows in the Temporal UI; if empty, responses contain no workflow links

	deliveryDelays []time.Duration // delay before each attempt to deliver an event

	covers coverCache
}

type envelopeStore interface {
	AuditEvents(ctx context.Context, e *models.Envelope) ([]models.Event, error)
	Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error)
	ChangeWithEvents(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*store.EnvelopeWithEvents, error)
	Create(ctx context.Context, e *models.Envelope) error
	Deliveries(ctx context.Context, f store.DeliveryFilter) ([]models.Delivery, int64, error)
	DeliveryContext(ctx context.Context, app uuid.UUID, ds []models.Delivery) (store.DeliveryContext, error)
	DeliveryProblems(ctx context.Context, app uuid.UUID, tenants []string, limit int) ([]store.DeliveryProblem, error)
	Duplicate(ctx context.Context, app, id uuid.UUID, build func(*models.Envelope) (*models.Envelope, error)) (*store.EnvelopeWithEvents, error)
	Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	InboxCounts(ctx context.Context, f store.EnvelopeFilter) (map[store.Inbox]int64, error)
	EnvelopeProblems(ctx context.Context, of store.ProblemFilter) ([]store.EnvelopeProblem, error)
	EnvelopeWithEntries(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, []models.FieldValue, error)
	Envelopes(ctx context.Context, f store.EnvelopeFilter) ([]*models.Envelope, int64, error)
	LastEvents(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID]*models.Event, error)
	MailProblems(ctx context.Context, of store.ProblemFilter) ([]store.MailProblem, error)
	Mails(ctx context.Context, envelope uuid.UUID) ([]models.Mail, error)
	NewestOpen(ctx context.Context, of store.ProblemFilter, before time.Time) ([]store.EnvelopeProblem, error)
	PlanLimits(plan models.Plan) models.PlanLimits
	RestartWorkflow(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	Settings(ctx context.Context, app uuid.UUID, tenant string) (own models.Settings, effective models.Settings, err error)
	Tenants(ctx context.Context, app uuid.UUID) ([]string, error)
	Undelivered(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error)
	UserNames(ctx context.Context, app uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error)
	ValuesWithoutPictures(ctx context.Context, e *models.Envelope) ([]models.FieldValue, error)
}

// documentHandler serves the documents of envelopes.
type documentHandler struct {
	subject[documentStore]

	envelopes *envelopeHandler
	uploads   *uploads
	pages     *pageFiles
}

type documentStore interface {
	Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error)
	PlanLimits(plan models.Plan) models.PlanLimits
}

// uploads examines, prepares and stores uploaded PDFs, and adds fields to them.
type uploads struct {
	subject[uploadStore]

	scanner Scanner // nil if uploads are not scanned
}

type uploadStore interface {
	RemovePageFiles(ctx context.Context, blobKeys ...string) error
	Unreferenced(ctx context.Context, keys ...string) ([]string, error)
}

// Scanner detects malware.
type Scanner interface {
	// Scan returns the name of the malware found in r, or "" if none was found.
	Scan(ctx context.Context, r io.Reader) (found string, err error)
}

// Workflows queries running workflows.
type Workflows interface {
	Progress(ctx context.Context, envelope uuid.UUID) (temporal.Progress, error)
	// Running reports whether the envelope's workflow is running.
	Running(ctx context.Context, envelope uuid.UUID) (bool, error)
	Check(ctx context.Context) error
}
