package temporal

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"

	"countersign/config"
)

// Observer is who sees what the client and its workers do.
type Observer struct {
	Metrics      client.MetricsHandler           // nil: nobody measures
	Interceptors []interceptor.ClientInterceptor // also of the workers
}

// Dial returns a client that connects when it is first used, so that the API
// starts and signers can sign while Temporal is down.
func Dial(cfg config.Config, log *slog.Logger, o Observer) (client.Client, error) {
	opts := client.Options{
		HostPort: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace, Logger: sdklog.NewStructuredLogger(log),
		MetricsHandler: o.Metrics, Interceptors: o.Interceptors,
	}
	if cfg.TemporalAPIKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(string(cfg.TemporalAPIKey))
		opts.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.TemporalTLSCert != "" || cfg.TemporalTLSKey != "" {
		cert, err := tls.LoadX509KeyPair(cfg.TemporalTLSCert, cfg.TemporalTLSKey)
		if err != nil {
			return nil, fmt.Errorf("temporal TLS certificate: %w", err)
		}
		opts.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("temporal client: %w", err)
	}
	return c, nil
}

// Check reports whether Temporal answers.
func Check(ctx context.Context, c client.Client) error {
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("temporal does not answer: %w", err)
	}
	return nil
}
