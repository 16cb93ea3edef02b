// Package tracing carries a trace through what outlives a request: it is
// written beside a fact in the database, and taken up again by whoever acts on
// the fact. Spans hold ids, names of routes and outcomes; no path, address,
// name, token or text of an error.
package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Name is the instrumentation scope of all our spans.
const Name = "countersign"

// Attributes of our spans, beside those of OpenTelemetry's conventions.
const (
	EnvelopeID = "countersign.envelope_id"
	RequestID  = "countersign.request_id"
	OutboxKind = "countersign.outbox_kind"
	Result     = "countersign.result"
)

// Off is a tracer whose spans nobody sees.
func Off() trace.Tracer { return noop.NewTracerProvider().Tracer(Name) }

const header = "traceparent"

// Carry writes the span that ctx is in as a W3C traceparent; "" without one that
// is sampled.
func Carry(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[header]
}

// Resume makes what Carry wrote the parent of spans begun with ctx. Anything
// else leaves ctx as it is.
func Resume(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: carried})
}

// Logs adds the trace's id to what is logged in one.
func Logs(next slog.Handler) slog.Handler { return logs{next} }

type logs struct{ slog.Handler }

// Handle implements slog.Handler.
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace", sc.TraceID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler { return logs{l.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (l logs) WithGroup(name string) slog.Handler { return logs{l.Handler.WithGroup(name)} }
