package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"countersign/api"
)

// Limits for a connection to the API.
const (
	readHeaderLimit = 10 * time.Second
	readLimit       = 5 * time.Minute // sufficient for a 25 MB file over a slow connection
	idleLimit       = 2 * time.Minute
	maxHeader       = 16 << 10 // in bytes
	shutdownLimit   = 15 * time.Second
	// sendBuffer is the maximum size of the kernel's send buffer, in bytes. By default, Linux lets it grow to megabytes,
	// and wakes a blocked writer only when a third of it is free. A slow download could then be indistinguishable from a
	// stalled one for minutes. At 3 KB/s, sending a full buffer takes about one minute. Without the limit, it takes more
	// than six minutes.
	sendBuffer = 128 << 10
)

// serve handles requests on l until ctx ends, and then waits for running requests to finish. The parameter rateLimit is
// used in the headers of responses to requests that are not valid HTTP. Zero omits the headers.
func serve(ctx context.Context, l net.Listener, h http.Handler, rateLimit int) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderLimit, ReadTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if tcp, ok := c.(api.ProblemConn); ok {
				_ = tcp.SetWriteBuffer(sendBuffer) // fails only if the connection is closed
			}
			return ctx
		},
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(problemListener{l, rateLimit}) }()
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

// listen listens on an address. The error contains the address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// problemListener accepts connections. If a request on an accepted connection is not valid HTTP, the response has the
// API's error format.
type problemListener struct {
	net.Listener

	rateLimit int
}

// Accept implements net.Listener.
func (l problemListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return api.ProblemConn{TCPConn: tcp, RateLimit: l.rateLimit, Now: now}, nil
	}
	return c, err
}
