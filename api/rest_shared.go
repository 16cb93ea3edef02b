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

// shared is what every handler shares: the clock, credentials, limits, files, and the way in which an error becomes an answer.
type shared struct {
	requests requestStore
	blobs    blob.Store
	files    *blob.Reader
	tokens   *credential.Tokens
	sms      notify.SMS // nil: none are sent

	baseURL     string
	uploadLimit int64 // bytes
	admission   admission.Limits
	stallLimit  time.Duration // ends an answer with a file of which its client takes nothing
	queueWait   time.Duration // how long a request waits for its turn; 0: 10 or 30 seconds
	consoleIdle time.Duration // ends a console session in which nothing is done
	consoleTOTP models.SecondFactor

	admissions *limit.Limit // how many PDFs are examined at a time
	work       *limit.Limit // bytes of workMemory
	bodyMemory *bodyMemory
	limits     *limiter
	apps       appCache
	// bearerRoutes are the routes that ask for a bearer token, as "GET /v1/envelopes".
	bearerRoutes map[string]bool

	tracer      trace.Tracer                                               // nil: no tracing
	observed    func(method, route string, status int, took time.Duration) // may be nil
	fileMissing func()                                                     // may be nil
	log         *slog.Logger
	now         func() time.Time
	newID       func() uuid.UUID
}

// requestStore is what every request needs of the store.
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

// subject is what the handlers of a subject have in common: what all share, and the methods S of the store that they need.
type subject[S any] struct {
	*shared

	store   S
	execute func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) // see store.Store.Execute
}

// newSubject gives a subject those methods of the store that narrow returns.
func newSubject[S any](s *shared, all *store.Store, narrow func(*store.Store) S) subject[S] {
	return subject[S]{s, narrow(all), func(ctx context.Context, key uuid.UUID, fn func(S) (*store.StoredResponse, error)) (*store.StoredResponse, error) {
		return all.Execute(ctx, key, func(st *store.Store) (*store.StoredResponse, error) { return fn(narrow(st)) })
	}}
}
