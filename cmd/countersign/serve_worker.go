package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"countersign/activities"
	"countersign/temporal"
	"countersign/worker"
)

type workerCommand struct{}

// Run runs the workflows and activities until ctx ends.
func (workerCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY", "SEAL_KEY")
	if err != nil {
		return err
	}
	defer ignoreStop(ctx, &err)
	a, err := newApp(ctx, cfg, logger(cfg, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	acts, err := a.newActivities(ctx)
	if err != nil {
		return err
	}
	if err := a.serveOperators(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() { a.watchCertificate(ctx) })
	ws, err := a.startWorkers(ctx, acts, cancel)
	if err != nil {
		return err
	}
	defer ws.Stop()
	wg.Go(func() { a.keepSchedules(ctx) })
	a.log.InfoContext(ctx, "worker started", "temporal", cfg.TemporalAddress, "namespace", cfg.TemporalNamespace, "version", version)
	debug.FreeOSMemory() // starting needs more memory than waiting for work
	a.newDispatcher().Run(ctx)
	return failedPart(ctx)
}

var errPartEnded = errors.New("a component of the service has stopped")

// failedPart returns the error of the part of the program whose failure ended ctx, or nil if ctx ended for another
// reason.
func failedPart(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errPartEnded) {
		return cause
	}
	return nil
}

// ignoreStop clears err if a signal has ended ctx and caused the error. A process that is stopped during startup exits
// successfully, like one that is stopped later.
func ignoreStop(ctx context.Context, err *error) {
	if ctx.Err() != nil && errors.Is(*err, context.Canceled) {
		*err = nil
	}
}

// callLimit is the time limit for each call to the database or Temporal while a process starts.
const callLimit = 10 * time.Second

// startWorkers waits until Temporal responds, because Temporal may start later than this process and be slow at first.
// It then starts the Temporal workers and creates the schedules. If a worker fails later, cancel is called. The process
// then ends, so that it is restarted or the operator notices.
func (a *app) startWorkers(ctx context.Context, acts *activities.Activities, cancel context.CancelCauseFunc) (worker.Workers, error) {
	var ws worker.Workers
	deployment := worker.Deployment{Name: a.cfg.WorkerDeployment, BuildID: cmp.Or(a.cfg.WorkerBuildID, version)}
	gaveUp := func(err error) { cancel(fmt.Errorf("%w: worker: %w", errPartEnded, err)) }
	if err := a.retryUntilTemporalReady(ctx, func(ctx context.Context) error { return temporal.Check(ctx, a.client) }); err != nil {
		return nil, err
	}
	if err := a.retryUntilTemporalReady(ctx, func(ctx context.Context) error {
		return temporal.EnsureSearchAttributes(ctx, a.client, a.cfg.TemporalNamespace)
	}); err != nil {
		return nil, err
	}
	if err := a.retryUntilTemporalReady(ctx, func(context.Context) error {
		ws = worker.New(a.client, acts, deployment, gaveUp) // a worker whose start failed cannot be started again
		return ws.Start()
	}); err != nil {
		return nil, err
	}
	if err := a.retryUntilTemporalReady(ctx, a.ensureSchedules); err != nil {
		ws.Stop()
		return nil, err
	}
	return ws, nil
}

// retryUntilTemporalReady is like retryUntilReady, but for calls to Temporal.
func (a *app) retryUntilTemporalReady(ctx context.Context, ask func(context.Context) error) error {
	return a.retryUntilReady(ctx, "Temporal", temporal.Retryable, ask)
}

// retryUntilReady calls ask until the call succeeds or fails permanently, or until ctx ends. The delay between calls
// increases to a maximum of ten seconds.
func (a *app) retryUntilReady(ctx context.Context, name string, passes func(error) bool, ask func(context.Context) error) error {
	for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
		try, cancel := context.WithTimeout(ctx, callLimit)
		err := ask(try)
		cancel()
		if err == nil || ctx.Err() == nil && !passes(err) {
			return err
		}
		a.log.WarnContext(ctx, "waiting for "+name, "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting for %s: %w", name, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}
