package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"countersign/config"
	"countersign/temporal"
)

// production reads the settings and asks for those that have no default.
func production(names ...string) (config.Config, error) {
	cfg, err := config.Load(os.Environ(), config.Default())
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.Require(names...)
}

type apiCommand struct{}

// Run serves the API, and dispatches what its own requests commit.
func (apiCommand) Run(ctx context.Context) (err error) {
	cfg, err := production("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	p, err := assemble(ctx, cfg, logger(cfg, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	h, err := p.api()
	if err != nil {
		return err
	}
	l, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	p.log.InfoContext(ctx, "serving", "address", l.Addr().String(), "base_url", cfg.BaseURL, "version", version)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.observe(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() { p.dispatcher().Run(ctx) })
	wg.Go(func() { p.housekeep(ctx) })
	return serve(ctx, l, h)
}

type workerCommand struct{}

// Run runs the workflows and activities until it is told to stop.
func (workerCommand) Run(ctx context.Context) (err error) {
	cfg, err := production("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY", "SEAL_KEY")
	if err != nil {
		return err
	}
	p, err := assemble(ctx, cfg, logger(cfg, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	ws, err := p.workers(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.observe(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() { p.watchCertificate(ctx) })
	if err := waitForTemporal(ctx, p.client); err != nil {
		return err
	}
	if err := ws.Start(); err != nil {
		return err
	}
	defer ws.Stop()
	if err := p.scheduleAnchors(ctx); err != nil {
		return err
	}
	p.log.InfoContext(ctx, "working", "temporal", cfg.TemporalAddress, "namespace", cfg.TemporalNamespace, "version", version)
	p.dispatcher().Run(ctx)
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

type migrateCommand struct{}

// Run migrates the database.
func (migrateCommand) Run(ctx context.Context) (err error) {
	cfg, err := production("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	s, _, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v, err := s.Migrate(ctx)
	if err != nil {
		return err
	}
	logger(cfg, false).InfoContext(ctx, "database is up to date", "version", v)
	return nil
}
