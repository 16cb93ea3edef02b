package temporal

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"countersign/internal/tracing"
)

// traceHeader is the name of the workflow and activity header that contains the trace context.
const traceHeader = "traceparent"

// TracingInterceptor propagates a trace to activities from the start of their workflow, or from a signal with a trace.
// A workflow itself has no span, because it can run for weeks and in many processes. Each activity has one span for its
// scheduling and one for its execution.
func TracingInterceptor(t trace.Tracer) interceptor.ClientInterceptor {
	return &tracingInterceptor{tracer: t}
}

type tracingInterceptor struct {
	interceptor.InterceptorBase

	tracer trace.Tracer
}

type traceKey struct{}

// WithTrace returns a context whose operations belong to the trace in traceparent (see tracing.Traceparent). If
// traceparent is empty, the trace of ctx remains.
func WithTrace(ctx workflow.Context, traceparent string) workflow.Context {
	if traceparent == "" {
		return ctx
	}
	return workflow.WithValue(ctx, traceKey{}, traceparent)
}

// WithoutTrace returns a context without a trace, for work started by a timer rather than a request.
func WithoutTrace(ctx workflow.Context) workflow.Context {
	return workflow.WithValue(ctx, traceKey{}, "")
}

func injectTrace(header map[string]*commonpb.Payload, traceparent string) {
	if header == nil || traceparent == "" {
		return
	}
	if p, err := converter.GetDefaultDataConverter().ToPayload(traceparent); err == nil {
		header[traceHeader] = p
	}
}

func extractTrace(header map[string]*commonpb.Payload) (traceparent string) {
	if p, ok := header[traceHeader]; ok {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &traceparent) // if the header cannot be parsed, there is no trace
	}
	return traceparent
}

// InterceptClient implements interceptor.ClientInterceptor.
func (t *tracingInterceptor) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	return &clientTracer{interceptor.ClientOutboundInterceptorBase{Next: next}}
}

type clientTracer struct {
	interceptor.ClientOutboundInterceptorBase
}

// ExecuteWorkflow implements interceptor.ClientOutboundInterceptor.
func (c *clientTracer) ExecuteWorkflow(ctx context.Context, in *interceptor.ClientExecuteWorkflowInput) (client.WorkflowRun, error) {
	injectTrace(interceptor.Header(ctx), tracing.Traceparent(ctx))
	return c.Next.ExecuteWorkflow(ctx, in)
}

// SignalWithStartWorkflow implements interceptor.ClientOutboundInterceptor.
func (c *clientTracer) SignalWithStartWorkflow(ctx context.Context, in *interceptor.ClientSignalWithStartWorkflowInput) (client.WorkflowRun, error) {
	injectTrace(interceptor.Header(ctx), tracing.Traceparent(ctx))
	return c.Next.SignalWithStartWorkflow(ctx, in)
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (t *tracingInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &workflowTracer{interceptor.WorkflowInboundInterceptorBase{Next: next}, t.tracer}
}

type workflowTracer struct {
	interceptor.WorkflowInboundInterceptorBase

	tracer trace.Tracer
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (w *workflowTracer) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return w.Next.Init(&scheduleTracer{interceptor.WorkflowOutboundInterceptorBase{Next: out}, w.tracer})
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (w *workflowTracer) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	return w.Next.ExecuteWorkflow(WithTrace(ctx, extractTrace(interceptor.WorkflowHeader(ctx))), in)
}

type scheduleTracer struct {
	interceptor.WorkflowOutboundInterceptorBase

	tracer trace.Tracer
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (s *scheduleTracer) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	s.inject(ctx, activityType)
	return s.Next.ExecuteActivity(ctx, activityType, args...)
}

// ExecuteLocalActivity implements interceptor.WorkflowOutboundInterceptor.
func (s *scheduleTracer) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	s.inject(ctx, activityType)
	return s.Next.ExecuteLocalActivity(ctx, activityType, args...)
}

func (s *scheduleTracer) inject(ctx workflow.Context, activityType string) {
	if traceparent, _ := ctx.Value(traceKey{}).(string); traceparent != "" {
		if !workflow.IsReplaying(ctx) {
			traceparent = s.scheduled(workflow.GetInfo(ctx), activityType, traceparent)
		}
		injectTrace(interceptor.WorkflowHeader(ctx), traceparent)
	}
}

// scheduled records a span for the scheduling of an activity, and returns its traceparent.
func (s *scheduleTracer) scheduled(info *workflow.Info, activityType, traceparent string) string {
	ctx, span := s.tracer.Start(tracing.WithTraceparent(context.Background(), traceparent), "workflow "+info.WorkflowType.Name, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.String("temporal.workflow_id", info.WorkflowExecution.ID), attribute.String("temporal.activity", activityType)))
	defer span.End()
	if next := tracing.Traceparent(ctx); next != "" {
		return next
	}
	return traceparent
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (t *tracingInterceptor) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &activityTracer{interceptor.ActivityInboundInterceptorBase{Next: next}, t.tracer}
}

type activityTracer struct {
	interceptor.ActivityInboundInterceptorBase

	tracer trace.Tracer
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (a *activityTracer) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	ctx, span := a.tracer.Start(tracing.WithTraceparent(ctx, extractTrace(interceptor.Header(ctx))), "activity "+info.ActivityType.Name, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.String("temporal.workflow_id", info.WorkflowExecution.ID), attribute.Int("temporal.attempt", int(info.Attempt))))
	defer span.End()
	out, err := a.Next.ExecuteActivity(ctx, in)
	if err != nil {
		span.SetStatus(codes.Error, "") // the error message is in the log and in the Temporal UI
	}
	return out, err
}
