package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"countersign/api"
)

// The limits of a connection to the API.
const (
	readHeaderLimit = 10 * time.Second
	readLimit       = 5 * time.Minute // a 25 MB file over a slow line
	idleLimit       = 2 * time.Minute
	maxHeader       = 16 << 10 // bytes
	shutdownLimit   = 15 * time.Second
	// sendBuffer limits how much of a response waits in the kernel, in bytes. By default Linux lets it grow to
	// megabytes, and wakes a waiting writer once a third is free: on a slow connection a download that progresses
	// could not be distinguished from a stalled one for minutes. At 3 KB/s it is one minute; without this limit it was
	// more than six.
	sendBuffer = 128 << 10
)

// serve handles requests on l until ctx ends, and then lets those in flight finish. rateLimit is stated in responses
// to requests that are not valid HTTP; 0: none.
func serve(ctx context.Context, l net.Listener, h http.Handler, rateLimit int) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderLimit, ReadTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if tcp, ok := c.(api.ProblemConn); ok {
				_ = tcp.SetWriteBuffer(sendBuffer) // it is closed already, or has the buffer that it has
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

// listen listens on an address. Its error names the address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// problemListener accepts connections on which requests that are not valid HTTP get responses in the API's format.
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
