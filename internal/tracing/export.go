package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"countersign/webhook"
)

// StartExport sends spans by OTLP over HTTP to the destination specified in OpenTelemetry's standard environment
// variables, such as OTEL_EXPORTER_OTLP_ENDPOINT. Spans wait in a limited buffer, and spans that cannot be sent are
// dropped. A call of stop sends the remaining spans.
func StartExport(ctx context.Context, version string) (_ trace.Tracer, stop func(context.Context) error, err error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", Name), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	return p.Tracer(Name), p.Shutdown, nil
}

// Deliverer delivers events to webhook endpoints.
type Deliverer interface {
	Deliver(ctx context.Context, req webhook.Request) webhook.Result
}

// TraceDeliveries wraps next to record a span for each delivery attempt. The trace ends at the endpoint, which belongs
// to a third party. The span does not contain the endpoint's address.
func TraceDeliveries(t trace.Tracer, next Deliverer) Deliverer { return tracedDeliverer{t, next} }

type tracedDeliverer struct {
	tracer trace.Tracer
	next   Deliverer
}

// Deliver implements Deliverer.
func (d tracedDeliverer) Deliver(ctx context.Context, req webhook.Request) webhook.Result {
	ctx, span := d.tracer.Start(ctx, "POST webhook", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	res := d.next.Deliver(ctx, req)
	span.SetAttributes(attribute.Int("http.response.status_code", res.Status), attribute.Bool(Result, res.OK()))
	return res
}
