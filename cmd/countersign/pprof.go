package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"sync"
)

// serveProfiles serves the profiles of net/http/pprof at /debug/pprof/, where the settings
// name a loopback address for it, until ctx ends.
func (a *app) serveProfiles(ctx context.Context, wg *sync.WaitGroup) error {
	if a.cfg.PprofListen == "" {
		return nil
	}
	l, err := listen(ctx, a.cfg.PprofListen)
	if err != nil {
		return fmt.Errorf("COUNTERSIGN_PPROF_LISTEN: %w", err)
	}
	a.log.InfoContext(ctx, "serving profiles", "address", l.Addr().String())
	wg.Go(func() {
		if err := serve(ctx, l, profiles()); err != nil {
			a.log.ErrorContext(ctx, "profile server stopped", "error", err)
		}
	})
	return nil
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // and the profiles by name: allocs, goroutine, heap, …
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
