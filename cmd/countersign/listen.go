package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of a connection to the API.
const (
	readHeaderLimit = 10 * time.Second
	readLimit       = 5 * time.Minute // a 25 MB file over a slow line
	idleLimit       = 2 * time.Minute
	shutdownLimit   = 15 * time.Second
)

// serve answers requests on l until ctx ends, and lets those in flight end.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderLimit, ReadTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: 64 << 10}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

// listen takes an address, with an error that says which.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}
