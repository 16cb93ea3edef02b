package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"countersign/internal/tracing"
)

const (
	requestIDKey = "request-id"
	envelopeKey  = "envelope"
)

// tagEnvelope records the envelope of a request in the log and the trace.
func tagEnvelope(c *gin.Context, envelope uuid.UUID) { c.Set(envelopeKey, envelope.String()) }

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// observe assigns an ID to the request and writes one log line. The line contains the route instead of the path,
// because the path may contain a token. The trace always starts here, because a parent trace specified by a client is
// not trusted.
func (s *shared) observe(c *gin.Context) {
	id := uuid.NewString()
	c.Set(requestIDKey, id)
	c.Header("X-Request-Id", id)
	start := s.now()
	if s.tracer != nil {
		name := "HTTP" // a page, or a path without a route
		if c.FullPath() != "" {
			name = c.Request.Method + " " + c.FullPath()
		}
		ctx, span := s.tracer.Start(c.Request.Context(), name, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer))
		c.Request = c.Request.WithContext(ctx)
		defer func() { finishSpan(c, span) }()
	}
	c.Next()
	level := slog.LevelDebug
	switch status := c.Writer.Status(); {
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		level = slog.LevelInfo // access was denied
	}
	if s.observed != nil {
		s.observed(c.Request.Method, c.FullPath(), c.Writer.Status(), s.now().Sub(start))
	}
	if !s.log.Enabled(c.Request.Context(), level) {
		return
	}
	s.log.Log(c.Request.Context(), level, "request", "request", id, "method", c.Request.Method, "route", c.FullPath(),
		"envelope", c.GetString(envelopeKey), "status", c.Writer.Status(), "ms", s.now().Sub(start).Milliseconds(), "ip", c.ClientIP())
}

// logSecurityEvent logs an authentication event. The attributes must identify the user by ID, never by name or address.
func (s *shared) logSecurityEvent(c *gin.Context, what string, attrs ...any) {
	s.log.InfoContext(c.Request.Context(), what, append(attrs, "request", requestID(c), "ip", c.ClientIP())...)
}

// finishSpan records the result of the request. It includes only IDs and the route.
func finishSpan(c *gin.Context, span trace.Span) {
	span.SetAttributes(attribute.String("http.route", c.FullPath()),
		attribute.Int("http.response.status_code", c.Writer.Status()), attribute.String(tracing.RequestID, requestID(c)))
	if id := c.GetString(envelopeKey); id != "" {
		span.SetAttributes(attribute.String(tracing.EnvelopeID, id))
	}
	if status := c.Writer.Status(); status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

func (s *shared) recoverPanic(c *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	c.Next()
}

// noContentPolicy is the content security policy of responses that load no resources.
const noContentPolicy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

// secureHeaders sets the security headers, because paths contain tokens and responses are confidential.
func (s *shared) secureHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", noContentPolicy)
	h.Set("X-Frame-Options", "DENY")
	if strings.HasPrefix(s.baseURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
	c.Next()
}
