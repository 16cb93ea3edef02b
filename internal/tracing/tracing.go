// Package tracing continues traces beyond a request. The database stores the trace context with an event, and the
// process that handles the event continues the trace. Spans contain IDs, route names and outcomes, but no paths,
// addresses, names, tokens or error texts.
package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Name is the instrumentation scope of all spans of this service.
const Name = "countersign"

// Span attributes that are not part of OpenTelemetry's conventions.
const (
	EnvelopeID = "countersign.envelope_id"
	RequestID  = "countersign.request_id"
	OutboxKind = "countersign.outbox_kind"
	Result     = "countersign.result"
)

const traceparentHeader = "traceparent"

// Traceparent returns the span of ctx as a W3C traceparent, or an empty string if there is no sampled span.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[traceparentHeader]
}

// WithTraceparent sets the parent of spans that are started with the returned context. The parent is a result of
// Traceparent. Any other value has no effect.
func WithTraceparent(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentHeader: carried})
}

// LogHandler adds the trace ID to records that are logged within a trace.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (l logHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace", sc.TraceID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{l.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (l logHandler) WithGroup(name string) slog.Handler { return logHandler{l.Handler.WithGroup(name)} }
