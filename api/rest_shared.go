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

// shared contains the dependencies of every handler: the clock, credentials, limits, files, and the rendering of
// errors.
type shared struct {
	requests requestStore
	blobs    blob.Store
	files    *blob.Reader
	tokens   *credential.Tokens
	sms      notify.SMS // nil: no text messages

	baseURL     string
	uploadLimit int64 // bytes
	admission   admission.Limits
	stallLimit  time.Duration // how long a client may read nothing of a file
	queueWait   time.Duration // how long a request waits for a concurrency limit; 0: 10 or 30 seconds
	consoleIdle time.Duration // how long an idle console session lasts
	consoleTOTP models.SecondFactor

	admissions *limit.Limit // concurrent PDF examinations
	work       *limit.Limit // bytes of workMemory
	bodyMemory *bodyMemory
	limits     *limiter
	apps       appCache
	// bearerRoutes contains the routes that require a bearer token, as "GET /v1/envelopes".
	bearerRoutes map[string]bool

	tracer      trace.Tracer                                               // nil: no tracing
	observed    func(method, route string, status int, took time.Duration) // may be nil
	fileMissing func()                                                     // may be nil
	log         *slog.Logger
	now         func() time.Time
	newID       func() uuid.UUID
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
	ReleaseKey(ctx context.Context, id uuid.UUID, anyway bool) error
	RememberCaller(ctx context.Context, key string, until time.Time) error
	ReserveQuota(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error)
	StoreResponse(ctx context.Context, id uuid.UUID, a store.StoredResponse) error
	TemplateArchived(ctx context.Context, app, id uuid.UUID) (bool, error)
}

// subject is the base of a subject's handlers: the shared dependencies, and the store methods S that they use.
type subject[S any] struct {
	*shared

	store   S
	execute func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) // see store.Store.Execute
}

// newSubject returns a subject with the store methods that narrow returns.
func newSubject[S any](s *shared, all *store.Store, narrow func(*store.Store) S) subject[S] {
	return subject[S]{s, narrow(all), func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) {
		return all.Execute(ctx, key, func(st *store.Store) (*store.StoredResponse, error) { return fn(narrow(st)) })
	}}
}
