package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/interceptor"

	"countersign/config"
	"countersign/internal/health"
	"countersign/internal/metrics"
	"countersign/internal/tracing"
	"countersign/temporal"
	"countersign/webhook"
)

// trace begins to export traces, where the environment asks for them.
func (p *parts) trace(ctx context.Context) error {
	wanted, err := config.Traces(os.Environ())
	if err != nil || !wanted {
		return err
	}
	t, stop, err := tracing.Export(ctx, version)
	if err != nil {
		return err
	}
	p.log = slog.New(tracing.Logs(p.log.Handler()))
	slog.SetDefault(p.log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { p.log.Warn("traces are not exported", "error", err) }))
	p.tracer, p.ended = t, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		if err := stop(end); err != nil {
			p.log.Warn("the last traces are not exported", "error", err)
		}
	}
	return nil
}

// temporalObserver sees what the Temporal client and the workers do.
func (p *parts) temporalObserver() temporal.Observer {
	o := temporal.Observer{Metrics: p.metrics.Temporal()}
	if p.tracer != nil {
		o.Interceptors = []interceptor.ClientInterceptor{temporal.Trace(p.tracer)}
	}
	return o
}

// deliverer posts webhooks, and is measured and traced.
func (p *parts) deliverer() metrics.Deliverer {
	d := p.metrics.Deliverer(webhook.NewClient(webhook.ClientConfig{AllowPrivate: p.cfg.WebhookAllowPrivate, UserAgent: "Countersign/" + version}))
	if p.tracer != nil {
		d = tracing.Deliveries(p.tracer, d)
	}
	return d
}

// measureStore shows the database's pool and the outbox.
func (p *parts) measureStore() error {
	if p.metrics == nil {
		return nil
	}
	pool, err := p.store.Pool()
	if err != nil {
		return err
	}
	p.metrics.Database(pool)
	p.metrics.Outbox(p.store.OutboxDepth)
	p.metrics.Unsealed(p.store.CountUnsealed)
	return nil
}

// checks are the parts that this process needs. A worker needs its seal key too.
func (p *parts) checks() health.Checks {
	cs := health.Checks{
		"database": p.store.Ping, "files": p.blobs.Check, "temporal": temporal.Workflows{Client: p.client}.Check,
	}
	if p.sealer != nil {
		cs["seal_key"] = func(context.Context) error { return p.sealer.Trial() }
	}
	return cs
}

// observe serves /metrics, /healthz and /readyz on an address of their own,
// where the settings name one, until ctx ends.
func (p *parts) observe(ctx context.Context, wg *sync.WaitGroup) error {
	if p.metrics == nil {
		return nil
	}
	l, err := listen(ctx, p.cfg.MetricsListen)
	if err != nil {
		return fmt.Errorf("COUNTERSIGN_METRICS_LISTEN: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics.Handler())
	mux.Handle("GET /readyz", p.checks().Handler(p.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": version}) // the prober has gone
	})
	p.log.InfoContext(ctx, "metrics are shown", "address", l.Addr().String())
	wg.Go(func() {
		if err := serve(ctx, l, mux); err != nil {
			p.log.ErrorContext(ctx, "metrics are not shown any more", "error", err)
		}
	})
	return nil
}

// certificateNotice is how long before its end a sealing certificate is warned of.
const certificateNotice = 30 * 24 * time.Hour

// watchCertificate warns at once and every day of a sealing certificate that
// ends soon, until ctx ends.
func (p *parts) watchCertificate(ctx context.Context) {
	ticker := time.NewTicker(24 * time.Hour)
	defer ticker.Stop()
	for {
		warnOfCertificate(ctx, p.log, p.sealer.NotAfter(), now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func warnOfCertificate(ctx context.Context, log *slog.Logger, notAfter, at time.Time) {
	left := notAfter.Sub(at)
	if left > certificateNotice {
		return
	}
	level := slog.LevelWarn
	if left <= 0 {
		level = slog.LevelError
	}
	log.Log(ctx, level, "the sealing certificate ends soon; put a new one in place and restart the workers",
		"not_after", notAfter.UTC(), "days_left", int(left.Hours()/24))
}
