// Package tracing continues traces beyond a request: the trace is stored with a fact in the database, and continued by
// the process that acts on the fact. Spans contain ids, names of routes and outcomes, but no path, address, name,
// token or text of an error.
package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Name is the instrumentation scope of all our spans.
const Name = "countersign"

// Attributes of spans, in addition to OpenTelemetry's conventions.
const (
	EnvelopeID = "countersign.envelope_id"
	RequestID  = "countersign.request_id"
	OutboxKind = "countersign.outbox_kind"
	Result     = "countersign.result"
)

const traceparentHeader = "traceparent"

// Traceparent writes the span that ctx is in as a W3C traceparent; "" without one that
// is sampled.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[traceparentHeader]
}

// WithTraceparent makes the result of Traceparent the parent of spans begun with ctx. For any other value it returns
// ctx unchanged.
func WithTraceparent(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentHeader: carried})
}

// LogHandler adds the trace's id to records logged within a trace.
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
