package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"countersign/internal/limit"
)

const (
	defaultTimeout    = 10 * time.Second
	defaultUserAgent  = "Countersign-Webhooks/1"
	maxResponseBody   = 4 << 10  // maximum number of bytes of the response body that are stored
	maxResponseHeader = 64 << 10 // in bytes
	maxRetryAfter     = 24 * time.Hour
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// AllowPrivate permits deliveries to private, loopback and link-local addresses, and over plain http. It is intended
	// only for development.
	AllowPrivate bool
	// Timeout is the time limit for one exchange, from name resolution to the last byte of the response. Zero means 10
	// seconds.
	Timeout time.Duration
	// Resolver resolves the names of endpoints. Nil selects the system's resolver.
	Resolver *net.Resolver
	// UserAgent is the value of the User-Agent header. If it is empty, "Countersign-Webhooks/1" is used.
	UserAgent string
	// RootCAs are the authorities trusted to issue certificates for endpoints. Nil selects the system's authorities.
	RootCAs *x509.CertPool
	// Now is the clock for measuring latencies. Nil selects the system clock.
	Now func() time.Time
}

// Request is one attempt to deliver an event to an endpoint.
type Request struct {
	URL string
	// Endpoint identifies the deliveries that share a concurrency limit, for example by the webhook ID. If it is empty,
	// there is no limit.
	Endpoint string
	// Failing reports whether the last delivery to the endpoint failed, in which case the concurrency limit is lower.
	Failing bool
	EventID string
	Body    []byte
	// Secrets contains the secrets with which the request is signed, newest first. At least one is required, and there
	// are several while a secret is being replaced. X-Service-Signature can contain only one signature. It uses the
	// oldest secret, so that receivers need not change their secret before the overlap ends. X-Service-Signature-Next
	// uses the newest secret, and webhook-signature uses all secrets.
	Secrets [][]byte
	// At is the time of the attempt, which is sent as webhook-timestamp.
	At time.Time
}

// Result is the result of an attempt.
type Result struct {
	Status     int // 0 if there was no response
	Latency    time.Duration
	Body       []byte        // the first 4 KiB of the response body
	RetryAfter time.Duration // 0 if the response requests no delay; the maximum is 24 hours
	Gone       bool          // status 410, which means that the endpoint no longer exists
	Err        error         // reason for the lack of a usable response; safe to store and display
	// Wait is positive if nothing was sent because the endpoint's concurrency limit was reached. It is the estimated time
	// until capacity is available.
	Wait time.Duration
}

// OK reports whether the endpoint accepted the event with a complete and timely 2xx response.
func (r Result) OK() bool { return r.Err == nil && r.Status >= 200 && r.Status <= 299 }

// Client delivers webhook events. It does not follow redirects or use a proxy. It is safe for concurrent use and keeps
// few idle connections.
type Client struct {
	http         *http.Client
	timeout      time.Duration
	userAgent    string
	allowPrivate bool
	now          func() time.Time
	limiter      limit.Keyed
}

// NewClient returns a Client with the given configuration.
func NewClient(cfg ClientConfig) *Client {
	c := &Client{
		timeout: cmp.Or(cfg.Timeout, defaultTimeout), userAgent: cmp.Or(cfg.UserAgent, defaultUserAgent), allowPrivate: cfg.AllowPrivate, now: cfg.Now,
	}
	if c.now == nil {
		c.now = time.Now //nolint:forbidigo // default for the injected clock
	}
	c.limiter = limit.Keyed{MaxWait: maxWait, Now: c.now}
	dialer := &net.Dialer{Resolver: cfg.Resolver, KeepAlive: 30 * time.Second}
	if !cfg.AllowPrivate {
		dialer.Control = newGuard().Safe
	}
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // prevents responses that expand when decompressed
			MaxResponseHeaderBytes: maxResponseHeader,
			MaxIdleConns:           100,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        30 * time.Second,
		},
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Deliver posts an event once, unless the endpoint's concurrency limit is reached. If ctx ends during the attempt,
// Result.Err wraps the error of ctx, and the attempt does not count as a failure of the endpoint.
func (c *Client) Deliver(ctx context.Context, req Request) Result {
	if req.Endpoint != "" {
		maxConcurrent := maxInFlight
		if req.Failing {
			maxConcurrent = maxInFlightFailing
		}
		release, wait := c.limiter.TryAcquire(req.Endpoint, maxConcurrent)
		if release == nil {
			return Result{Wait: wait}
		}
		defer release()
	}
	start := c.now()
	result := c.exchange(ctx, req)
	result.Latency = max(0, c.now().Sub(start))
	return result
}

func (c *Client) exchange(outer context.Context, req Request) Result {
	if err := CheckURL(req.URL, c.allowPrivate); err != nil {
		if !errors.Is(err, ErrAddressNotAllowed) {
			err = fmt.Errorf("%w: %w", ErrURL, err)
		}
		return Result{Err: err}
	}
	ctx, cancel := context.WithTimeout(outer, c.timeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, req.URL, bytes.NewReader(req.Body))
	if err != nil {
		return Result{Err: ErrURL}
	}
	if len(req.Secrets) == 0 {
		return Result{Err: errNoSecret}
	}
	post.Header = StandardHeaders(req.EventID, req.At, req.Body, req.Secrets...)
	post.Header.Set(SignatureHeader, Sign(req.Secrets[len(req.Secrets)-1], req.Body))
	if len(req.Secrets) > 1 {
		post.Header.Set(nextSignatureHeader, Sign(req.Secrets[0], req.Body))
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("User-Agent", c.userAgent)

	res, err := c.http.Do(post)
	if err != nil {
		return Result{Err: classify(outer, err)}
	}
	defer func() { _ = res.Body.Close() }() // does not read the response beyond the first 4 KiB
	result := Result{
		Status:     res.StatusCode,
		Gone:       res.StatusCode == http.StatusGone,
		RetryAfter: retryAfter(res, c.now()),
	}
	result.Body, err = io.ReadAll(io.LimitReader(res.Body, maxResponseBody))
	switch {
	case err != nil:
		result.Err = classify(outer, err)
	case res.StatusCode >= 300 && res.StatusCode <= 399:
		result.Err = ErrRedirect
	}
	return result
}

// retryAfter parses the Retry-After header (RFC 9110 §10.2.3) of an unsuccessful response. It returns 0 if there is
// none.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	value := strings.TrimSpace(res.Header.Get("Retry-After"))
	if value == "" || res.StatusCode < 300 {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}
