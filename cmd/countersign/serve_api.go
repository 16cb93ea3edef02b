package main

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
)

type apiCommand struct{}

// Run serves the API and dispatches the outbox rows created by its requests.
func (apiCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	defer ignoreStop(ctx, &err)
	a, err := newApp(ctx, cfg, logger(cfg, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	h, err := a.newHandler(ctx)
	if err != nil {
		return err
	}
	l, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "serving", "address", l.Addr().String(), "base_url", cfg.BaseURL, "version", version)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.serveOperators(ctx, &wg); err != nil {
		return err
	}
	wg.Go(func() { a.newDispatcher().Run(ctx) })
	wg.Go(func() { _ = a.renderer.compile(ctx) }) // so that the first request for a page need not wait
	debug.FreeOSMemory()                          // starting needs more memory than waiting for requests
	return serve(ctx, l, h, cfg.RateLimit)
}
