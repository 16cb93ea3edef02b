package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"countersign/temporal"
)

type workerCommand struct{}

// Run runs the workflows and activities until ctx ends.
func (workerCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY", "SEAL_KEY")
	if err != nil {
		return err
	}
	a, err := newApp(ctx, cfg, logger(cfg, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ws, err := a.newWorkers(ctx, cancel)
	if err != nil {
		return err
	}
	if err := a.serveOperators(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() { a.watchCertificate(ctx) })
	if err := waitForTemporal(ctx, a.client); err != nil {
		return err
	}
	if err := ws.Start(); err != nil {
		return err
	}
	defer ws.Stop()
	if err := a.ensureSchedules(ctx); err != nil {
		return err
	}
	a.log.InfoContext(ctx, "worker started", "temporal", cfg.TemporalAddress, "namespace", cfg.TemporalNamespace, "version", version)
	a.newDispatcher().Run(ctx)
	return whatEnded(ctx)
}

var errPartEnded = errors.New("a part of the service has ended")

// whatEnded is the part whose end has ended ctx; nil if it ended for another reason.
func whatEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errPartEnded) {
		return cause
	}
	return nil
}

// waitForTemporal lets a worker be started before Temporal is.
func waitForTemporal(ctx context.Context, c client.Client) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := temporal.Check(try, c)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting: %w", err)
		case <-time.After(time.Second):
		}
	}
}
