package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"countersign/internal/credential"
	"countersign/internal/limit"
	"countersign/models"
	"countersign/notify"
	"countersign/seal/admission"
	"countersign/store"
	"countersign/store/blob"
)

// shared contains the dependencies that all handlers use: the clock, credentials, limits, files, and error rendering.
type shared struct {
	requests requestStore
	blobs    blob.Store
	files    *blob.Reader
	tokens   *credential.Tokens
	sms      notify.SMS // nil if text messages are not supported

	baseURL     string
	uploadLimit int64 // in bytes
	admission   admission.Limits
	stallLimit  time.Duration // maximum time for which a client may stop reading a file
	queueWait   time.Duration // maximum time for which a request waits for a concurrency limit; 0 means 10 or 30 seconds
	consoleIdle time.Duration // time after which an idle console session ends
	consoleTOTP models.SecondFactor

	admissions *limit.Limit // concurrent examinations of PDFs
	work       *limit.Limit // bytes of workMemory
	bodyMemory *bodyMemory
	limits     *limiter
	apps       appCache
	// bearerRoutes contains the routes that require a bearer token, in the form "GET /v1/envelopes".
	bearerRoutes map[string]bool

	tracer      trace.Tracer                                               // nil if tracing is disabled
	observed    func(method, route string, status int, took time.Duration) // may be nil
	fileMissing func()                                                     // may be nil
	log         *slog.Logger
	now         func() time.Time
	newID       func() uuid.UUID
}

// authUnavailable returns the reason why signers cannot authenticate with a method; "" if they can.
func (s *shared) authUnavailable(m models.AuthMethod) string {
	if m.ByPhone() && s.sms == nil {
		return string(m) + " is unavailable, because this service sends no text messages"
	}
	return ""
}

// requestStore contains the store methods that every request uses.
type requestStore interface {
	App(ctx context.Context, id uuid.UUID) (*models.App, error)
	BuilderSessionByToken(ctx context.Context, hash []byte) (*models.BuilderSession, error)
	CallerKnownUntil(ctx context.Context, key string) (time.Time, error)
	ClaimKey(ctx context.Context, r store.IdempotentRequest, keep time.Duration) (uuid.UUID, *store.StoredResponse, error)
	ConsoleSession(ctx context.Context, id uuid.UUID, idle time.Duration, acting bool) (*store.ActiveSession, error)
	EmbeddedSession(ctx context.Context, id uuid.UUID) (*models.EmbeddedSession, error)
	Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error)
	EnvelopeTenant(ctx context.Context, app, id uuid.UUID) (string, error)
	LinkByShortForm(ctx context.Context, short string) (app uuid.UUID, l models.Link, err error)
	ReleaseKey(ctx context.Context, id uuid.UUID, force bool) error
	RememberCaller(ctx context.Context, key string, until time.Time) error
	ReserveQuota(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error)
	StoreResponse(ctx context.Context, id uuid.UUID, a store.StoredResponse) error
	TemplateArchived(ctx context.Context, app, id uuid.UUID) (bool, error)
}

// subject is the base of a subject's handlers. It consists of the shared dependencies and the store methods S that the
// handlers use.
type subject[S any] struct {
	*shared

	store   S
	execute func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) // see store.Store.Execute
}

// newSubject returns a subject that uses the store methods selected by narrow.
func newSubject[S any](s *shared, all *store.Store, narrow func(*store.Store) S) subject[S] {
	return subject[S]{s, narrow(all), func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) {
		return all.Execute(ctx, key, func(st *store.Store) (*store.StoredResponse, error) { return fn(narrow(st)) })
	}}
}
