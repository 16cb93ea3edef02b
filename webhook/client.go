package webhook

import (
	"context"
	"errors"
	"net"
	"time"
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// AllowPrivate lets deliveries reach private, loopback and link-local
	// addresses and any port, over plain http too: for development only.
	AllowPrivate bool
	// Timeout bounds one whole exchange, from name resolution to the last byte
	// read of the answer; 0 means 10 s.
	Timeout time.Duration
	// Resolver looks up endpoint names; nil means the system's.
	Resolver *net.Resolver
	// UserAgent is the User-Agent header; empty means "Countersign-Webhooks/1".
	UserAgent string
}

// Request is one attempt to deliver one event to one endpoint.
type Request struct {
	URL     string
	EventID string
	Body    []byte
	Secret  []byte
	// PreviousSecrets are still accepted by the receiver during a rotation.
	PreviousSecrets [][]byte
	// At is the moment of the attempt; it becomes webhook-timestamp.
	At time.Time
}

// Result is what came of an attempt.
type Result struct {
	Status     int // 0 when no answer came
	Latency    time.Duration
	Body       []byte        // the answer's first 4 KiB
	RetryAfter time.Duration // 0 when the answer asks for no delay
	Gone       bool          // 410: the endpoint wants no more deliveries
	Err        error         // why no usable answer came; the text is safe to store and show
}

// OK reports whether the endpoint took the event: an answer of 2xx, complete
// and in time.
func (r Result) OK() bool { return r.Err == nil && r.Status >= 200 && r.Status <= 299 }

// Client delivers webhook events. It is safe for concurrent use.
type Client struct{}

// NewClient builds a Client.
func NewClient(cfg ClientConfig) *Client { return &Client{} }

// Deliver posts the event once.
func (c *Client) Deliver(ctx context.Context, req Request) Result {
	return Result{Err: errors.New("not implemented")}
}
