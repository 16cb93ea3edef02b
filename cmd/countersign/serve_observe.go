package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
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

// trace starts the export of traces if it is enabled in the environment.
func (a *app) trace(ctx context.Context) error {
	wanted, err := config.Traces(os.Environ())
	if err != nil || !wanted {
		return err
	}
	t, stop, err := tracing.StartExport(ctx, version)
	if err != nil {
		return err
	}
	a.log = slog.New(tracing.LogHandler(a.log.Handler()))
	slog.SetDefault(a.log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { a.log.Warn("traces cannot be exported", "error", err) }))
	a.tracer, a.stopTracing = t, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		if err := stop(end); err != nil {
			a.log.Warn("the last traces could not be exported", "error", err)
		}
	}
	return nil
}

// temporalObserver returns the metrics and tracing hooks for the Temporal client and the workers.
func (a *app) temporalObserver() temporal.Observer {
	o := temporal.Observer{Metrics: a.metrics.Temporal()}
	if a.tracer != nil {
		o.Interceptors = []interceptor.ClientInterceptor{temporal.TracingInterceptor(a.tracer)}
	}
	return o
}

// deliverer returns a webhook client with metrics and tracing.
func (a *app) deliverer() metrics.Deliverer {
	d := a.metrics.Deliverer(webhook.NewClient(webhook.ClientConfig{AllowPrivate: a.cfg.WebhookAllowPrivate, UserAgent: "Countersign/" + version}))
	if a.tracer != nil {
		d = tracing.TraceDeliveries(a.tracer, d)
	}
	return d
}

// measureStore adds metrics for the database connection pool and the outbox.
func (a *app) measureStore() error {
	if a.metrics == nil {
		return nil
	}
	pool, err := a.store.DB()
	if err != nil {
		return err
	}
	a.metrics.Database(pool)
	a.metrics.Outbox(a.store.OutboxDepth)
	a.metrics.Unsealed(a.store.CountUnsealed)
	a.metrics.Lag(func(ctx context.Context) (metrics.Lag, error) {
		lag, err := a.store.Lag(ctx, a.cfg.WebhookSchedule[:])
		return metrics.Lag(lag), err
	})
	return nil
}

// checks returns the health checks of the services that this process depends on. A process with workers also checks its
// sealing key.
func (a *app) checks() health.Checks {
	cs := health.Checks{
		"database": a.store.Ping, "files": a.blobs.Check, "temporal": temporal.Workflows{Client: a.client}.Check,
	}
	if a.sealer != nil {
		cs["seal_key"] = func(context.Context) error { return a.sealer.Trial() }
	}
	return cs
}

// serveOperators serves /metrics, /healthz and /readyz on one address, and profiles on another, until ctx ends. Each
// address is served only if it is set.
func (a *app) serveOperators(ctx context.Context, wg *sync.WaitGroup) error {
	if a.metrics != nil {
		if err := a.serveOn(ctx, wg, "METRICS_LISTEN", a.cfg.MetricsListen, a.operatorHandler(), "serving metrics", "metrics server stopped"); err != nil {
			return err
		}
	}
	if a.cfg.PprofListen == "" {
		return nil
	}
	return a.serveOn(ctx, wg, "PPROF_LISTEN", a.cfg.PprofListen, profiles(), "serving profiles", "profile server stopped")
}

// serveOn serves h on the address of the given setting, and logs when it starts and stops serving.
func (a *app) serveOn(ctx context.Context, wg *sync.WaitGroup, setting, address string, h http.Handler, serving, stopped string) error {
	l, err := listen(ctx, address)
	if err != nil {
		return fmt.Errorf("%s%s: %w", config.Prefix, setting, err)
	}
	a.log.InfoContext(ctx, serving, "address", l.Addr().String())
	wg.Go(func() {
		if err := serve(ctx, l, h, 0); err != nil {
			a.log.ErrorContext(ctx, stopped, "error", err)
		}
	})
	return nil
}

func (a *app) operatorHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.Handle("GET /readyz", a.checks().Handler(a.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": version}) // an error means that the client has disconnected
	})
	return mux
}

// profiles returns the handlers of net/http/pprof, except for the one that returns the command line.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // includes the named profiles: allocs, goroutine, heap and so on
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// certificateNotice is the time before the expiry of a sealing certificate at which warnings begin.
const certificateNotice = 30 * 24 * time.Hour

// watchCertificate logs a warning if the sealing certificate is about to expire, immediately and then daily, until ctx
// ends.
func (a *app) watchCertificate(ctx context.Context) {
	ticker := time.NewTicker(24 * time.Hour)
	defer ticker.Stop()
	for {
		warnOfCertificate(ctx, a.log, a.sealer.NotAfter(), now())
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
	log.Log(ctx, level, "the sealing certificate expires soon; install a new one and restart the workers",
		"not_after", notAfter.UTC(), "days_left", int(left.Hours()/24))
}
