package tracing_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"countersign/internal/tracing"
	"countersign/webhook"
)

func recorder() (trace.Tracer, *tracetest.InMemoryExporter) {
	seen := tracetest.NewInMemoryExporter()
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(seen)).Tracer(tracing.Name), seen
}

func TestTraceparent_ContinuesTheTrace(t *testing.T) {
	t.Parallel()
	tracer, seen := recorder()
	ctx, span := tracer.Start(t.Context(), "request")
	carried := tracing.Traceparent(ctx)
	span.End()
	assert.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`, carried)
	_, span = tracer.Start(tracing.WithTraceparent(t.Context(), carried), "later")
	span.End()
	got := seen.GetSpans()
	require.Len(t, got, 2)
	assert.Equal(t, got[0].SpanContext.TraceID(), got[1].SpanContext.TraceID())
	assert.Equal(t, got[0].SpanContext.SpanID(), got[1].Parent.SpanID())
}

func TestTraceparent_WithoutTrace_IsEmpty(t *testing.T) {
	t.Parallel()
	assert.Empty(t, tracing.Traceparent(t.Context()))
	off, span := noop.NewTracerProvider().Tracer("t").Start(t.Context(), "request")
	span.End()
	assert.Empty(t, tracing.Traceparent(off))
	unsampled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("t")
	ctx, span := unsampled.Start(t.Context(), "request")
	span.End()
	assert.Empty(t, tracing.Traceparent(ctx))
	for _, bad := range []string{"", "nonsense", "00-0-0-01", strings.Repeat("x", 1<<16)} {
		assert.Equal(t, trace.SpanContext{}, trace.SpanContextFromContext(tracing.WithTraceparent(t.Context(), bad)))
	}
}

func TestLogs_ContainTheTrace(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(tracing.LogHandler(slog.NewTextHandler(&out, nil))).With("a", 1).WithGroup("g")
	tracer, _ := recorder()
	ctx, span := tracer.Start(t.Context(), "request")
	defer span.End()
	log.InfoContext(ctx, "in")
	assert.Contains(t, out.String(), span.SpanContext().TraceID().String())
	out.Reset()
	log.InfoContext(t.Context(), "out")
	assert.NotContains(t, out.String(), "trace=")
}

type fakeDeliverer struct{ ctx context.Context }

func (e *fakeDeliverer) Deliver(ctx context.Context, _ webhook.Request) webhook.Result {
	e.ctx = ctx
	return webhook.Result{Status: 503}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	tracer, seen := recorder()
	next := &fakeDeliverer{}
	tracing.TraceDeliveries(tracer, next).Deliver(t.Context(), webhook.Request{URL: "https://example.com/hook?key=hunter2"})
	require.Len(t, seen.GetSpans(), 1)
	got := seen.GetSpans()[0]
	assert.Equal(t, "POST webhook", got.Name)
	for _, a := range got.Attributes {
		assert.NotContains(t, a.Value.String(), "hunter2")
	}
	assert.Equal(t, got.SpanContext.SpanID(), trace.SpanContextFromContext(next.ctx).SpanID())
}
