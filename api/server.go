// Package api serves Countersign over HTTP. Each handler parses the request, authorizes it, makes one call to the layer
// below, and renders the response.
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

// Config contains the dependencies and settings of a Server. SMS may be nil. All other fields are required unless their
// comments state otherwise.
type Config struct {
	Store     *store.Store
	Blobs     blob.Store
	Tokens    *credential.Tokens
	Codes     *credential.Codes
	Mail      Mailer
	SMS       notify.SMS
	Workflows Workflows
	Scanner   Scanner      // scans uploads; nil disables scanning
	Renderer  PageRenderer // renders pages
	Pages     http.Handler // serves the web pages, at every path outside the API

	BaseURL, SigningURL, EmbedURL string
	// WorkflowsURL is the base URL of workflows in the Temporal UI. If it is empty, responses omit the URLs of workflows.
	WorkflowsURL string
	// DeliveryDelays contains the delay before each attempt to deliver an event.
	DeliveryDelays []time.Duration
	UploadLimit    int64 // in bytes
	// Admission limits the resources used to examine uploaded PDFs. The zero value selects admission.DefaultLimits.
	Admission         admission.Limits
	RateLimit         int  // in requests per minute
	SharedLimits      bool // count requests across all processes, in the database
	DefaultExpiryDays int
	ReminderInterval  time.Duration
	ConsoleIdle       time.Duration       // time after which an idle console session ends; 0 means 30 minutes
	ConsoleTOTP       models.SecondFactor // which users must have a second factor; if empty, it is optional
	Provider          *ProviderConfig     // sign-in through a provider, as an alternative to passwords for console users; nil disables it
	AllowPrivateHooks bool
	// DeclineNeedsCode requires clients to confirm the signer's code before they can decline.
	DeclineNeedsCode bool
	// CodeBeforeReading requires clients to confirm the signer's code before documents are sent to them.
	CodeBeforeReading bool
	Development       bool         // allow pages at http://localhost to embed signing
	Trust             trust.Policy // trusted authorities for verifying sealed documents, in addition to this installation's own certificates and keys
	TrustedProxies    []string
	Version           string
	// StreamLimit is the maximum duration of an event stream. Zero means 15 minutes.
	StreamLimit time.Duration
	// QueueWait is the maximum time for which a request waits for a concurrency limit. Zero means 10 or 30 seconds,
	// depending on the limit.
	QueueWait time.Duration
	// StallLimit is the maximum time for which a client that downloads a file may stop reading. Zero means two minutes.
	StallLimit time.Duration
	// Stopping, if not nil, ends event streams when it is closed.
	Stopping <-chan struct{}

	// Tracer starts a span for each request. If it is nil, tracing is disabled.
	Tracer trace.Tracer
	// Observe, if not nil, is called after every response with the pattern of the route.
	Observe func(method, route string, status int, took time.Duration)
	// FileMissing, if not nil, is called when a requested file or an envelope's archive is missing or differs from its
	// record.
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
	s.engine.RedirectTrailingSlash = false // the router's redirects would bypass the middleware
	if err := s.engine.SetTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	s.engine.Use(s.observe, s.recoverPanic, s.secureHeaders, s.limitAddress)
	s.bearerRoutes = make(map[string]bool)
	for _, r := range s.routes {
		methods := []string{r.method}
		if r.method == http.MethodGet { // net/http omits the body of the response to HEAD (RFC 9110 §9.3.2)
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
		s.write(c, http.StatusMethodNotAllowed, models.Reject(models.KindInvalid, "method_not_allowed", "This resource does not support the method %s.", c.Request.Method))
	})
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }
