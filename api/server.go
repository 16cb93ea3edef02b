// Package api serves Countersign over HTTP. A handler binds the request, authorizes it, makes one call and renders the
// response.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/notify"
	"countersign/seal/admission"
	"countersign/seal/trust"
	"countersign/store"
	"countersign/store/blob"
)

// Config contains the dependencies and settings of a Server. SMS may be nil; all else is required.
type Config struct {
	Store     *store.Store
	Blobs     blob.Store
	Tokens    *credential.Tokens
	Codes     *credential.Codes
	Mail      Mailer
	SMS       notify.SMS
	Workflows Workflows
	Scanner   Scanner      // scans uploads; nil: uploads are not scanned
	Renderer  PageRenderer // renders pages
	Pages     http.Handler // the web pages, for every path outside the API

	BaseURL, SigningURL, EmbedURL string
	// WorkflowsURL is the base address of workflows in the Temporal UI; empty omits their addresses.
	WorkflowsURL string
	// DeliveryDelays are the delays before each attempt at a delivery.
	DeliveryDelays []time.Duration
	UploadLimit    int64 // bytes
	// Admission limits the examination of uploaded PDFs; the zero value is admission.DefaultLimits.
	Admission         admission.Limits
	RateLimit         int  // requests per minute
	SharedLimits      bool // count requests together with other processes, in the database
	DefaultExpiryDays int
	ReminderInterval  time.Duration
	ConsoleIdle       time.Duration       // how long an idle console session lasts; 0: 30 minutes
	ConsoleTOTP       models.SecondFactor // the users who must have a second factor; empty: optional
	Provider          *ProviderConfig     // additional sign-in of console users at a provider; nil: disabled
	AllowPrivateHooks bool
	// DeclineNeedsCode allows only a client that confirmed the signer's code to decline.
	DeclineNeedsCode bool
	// CodeBeforeReading sends documents only to a client that confirmed the signer's code.
	CodeBeforeReading bool
	Development       bool         // allow embedded pages of http://localhost
	Trust             trust.Policy // the trust of verdicts on sealed documents, in addition to this installation's own certificates and keys
	TrustedProxies    []string
	Version           string
	// StreamLimit is the maximum duration of an event stream; 0 means 15 minutes.
	StreamLimit time.Duration
	// QueueWait is how long a request waits for a concurrency limit; 0 means 10 or 30 seconds.
	QueueWait time.Duration
	// StallLimit is how long a client may read nothing of a file that it downloads; 0 means two minutes.
	StallLimit time.Duration
	// Stopping ends event streams when it is closed; nil if it never is.
	Stopping <-chan struct{}

	// Tracer starts a span for each request; nil disables tracing.
	Tracer trace.Tracer
	// Observe is called after every response, with the route's pattern; may be nil.
	Observe func(method, route string, status int, took time.Duration)
	// FileMissing is called when a requested file or an envelope's archive is missing or differs from its record;
	// optional.
	FileMissing func()
	Log         *slog.Logger
	Now         func() time.Time
	NewID       func() uuid.UUID
}

// Server is the HTTP handler of the whole service.
type Server struct {
	*shared

	engine   *gin.Engine
	handlers *handlers
	routes   []route

	version   string
	database  func(context.Context) error // returns an error if the database does not respond
	workflows Workflows
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	gin.SetMode(gin.ReleaseMode)
	s := &Server{shared: newShared(cfg), engine: gin.New(), version: cfg.Version, database: cfg.Store.Ping, workflows: cfg.Workflows}
	var err error
	if s.handlers, err = newHandlers(s.shared, cfg); err != nil {
		return nil, err
	}
	s.routes = append(s.ownRoutes(), s.handlers.routes()...)
	s.engine.HandleMethodNotAllowed = true
	s.engine.ContextWithFallback = true
	s.engine.RedirectTrailingSlash = false // its redirects would bypass the middleware below
	if err := s.engine.SetTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	s.engine.Use(s.observe, s.recoverPanic, s.secureHeaders, s.limitAddress)
	s.bearerRoutes = make(map[string]bool)
	for _, r := range s.routes {
		methods := []string{r.method}
		if r.method == http.MethodGet { // net/http omits the body (RFC 9110 §9.3.2)
			methods = append(methods, http.MethodHead)
		}
		for _, m := range methods {
			s.engine.Handle(m, r.path, s.handle(r))
			s.bearerRoutes[m+" "+r.path] = r.access == bearer || r.access == console || r.access == consoleUser
		}
	}
	s.engine.NoRoute(func(c *gin.Context) {
		if cfg.Pages != nil && (c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead) && !isAPI(c.Request.URL.Path) {
			cfg.Pages.ServeHTTP(c.Writer, c.Request)
			return
		}
		s.fail(c, models.ErrNotFound)
	})
	s.engine.NoMethod(func(c *gin.Context) {
		s.write(c, http.StatusMethodNotAllowed, models.Refuse(models.KindInvalid, "method_not_allowed", "This resource does not support the method %s.", c.Request.Method))
	})
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }
