package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"countersign/config"
)

// healthTimeout is the time limit for the request. The service itself responds within three seconds.
const healthTimeout = 4 * time.Second

type healthcheckCommand struct {
	URL string `arg:"" optional:"" help:"Address to check. Default: /readyz of the API or, with --worker, of the worker, at the address in the settings."`

	Worker bool `help:"Check the worker, at METRICS_LISTEN."`
}

// Run checks that the process in this container is ready. The API is considered ready without Temporal, because signers
// can still sign.
func (h healthcheckCommand) Run(ctx context.Context) error {
	address := h.URL
	if address == "" {
		cfg, err := config.Load(os.Environ(), config.Default())
		if err != nil {
			return err
		}
		if address, err = h.address(cfg); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()                // an error has no effect on the result
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // used only in an error message
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready (%d): %s", res.StatusCode, body)
	}
	return nil
}

// address returns the URL at which the process can be reached on the local machine.
func (h healthcheckCommand) address(cfg config.Config) (string, error) {
	listen, path := cfg.Listen, "/readyz?for=requests"
	if h.Worker {
		if listen, path = cfg.MetricsListen, "/readyz"; listen == "" {
			return "", fmt.Errorf("%sMETRICS_LISTEN must be set: a worker listens only on that address", config.Prefix)
		}
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port) + path, nil
}
