package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/internal/tracing"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

func step(context.Context, string) error { return nil }

// steps runs one activity in the trace that started the workflow, one in the trace of the signal, and one without a
// trace.
func steps(ctx workflow.Context, _ temporal.EnvelopeInput) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	if err := workflow.ExecuteActivity(ctx, step, "started").Get(ctx, nil); err != nil {
		return err
	}
	var fact temporal.SignerSignal
	workflow.GetSignalChannel(ctx, temporal.SignalVoided).Receive(ctx, &fact)
	if err := workflow.ExecuteActivity(temporal.WithTrace(ctx, fact.Trace), step, "signalled").Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteActivity(temporal.WithoutTrace(ctx), step, "due").Get(ctx, nil)
}

// TestTracing_OneTracePerStep checks that the traces of two outbox rows are propagated to the activities that they
// cause.
func TestTracing_OneTracePerStep(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(seen)).Tracer(tracing.Name)
	opts := kit.Temporal(t)
	opts.Interceptors = []interceptor.ClientInterceptor{temporal.TracingInterceptor(tracer)}
	c, err := client.Dial(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(steps, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	w.RegisterActivity(step)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	f := &fixture{outbox: &fakeOutbox{}, key: uuid.New(), c: c}
	f.Dispatcher = &temporal.Dispatcher{Outbox: f.outbox, Client: c, Namespace: opts.Namespace, Tracer: tracer}

	var began []trace.SpanContext
	for _, kind := range []models.OutboxKind{models.OutboxStart, models.OutboxVoided} {
		ctx, request := tracer.Start(t.Context(), "request")
		f.enqueue(t, kind)
		f.outbox.rows[0].Refs.Trace = tracing.Traceparent(ctx)
		request.End()
		began = append(began, request.SpanContext())
		f.dispatch(t)
		f.outbox.rows = nil
	}
	require.NoError(t, c.GetWorkflow(t.Context(), temporal.EnvelopeWorkflowID(f.key), "").Get(t.Context(), nil))

	spans := make(map[trace.TraceID][]string)
	for _, s := range seen.GetSpans() {
		spans[s.SpanContext.TraceID()] = append(spans[s.SpanContext.TraceID()], s.Name)
	}
	assert.Len(t, spans, 3, "two steps, and the steps started by timers")
	assert.ElementsMatch(t, []string{"request", "outbox start", "workflow Envelope", "activity step"}, spans[began[0].TraceID()])
	assert.ElementsMatch(t, []string{"request", "outbox voided", "workflow Envelope", "activity step"}, spans[began[1].TraceID()])
}
