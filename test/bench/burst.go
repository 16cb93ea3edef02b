package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// Parameters of the bursts.
const (
	burst      = 2000
	backlog    = 20000
	burstLimit = 10 * time.Minute
	pings      = 20 // deliveries to the healthy endpoint in each phase
	hanging    = 30 * time.Second
)

// measureBurst sends many envelopes at once, and waits until the mail server has received every invitation.
func (w *benchEnv) measureBurst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, burstLimit)
	defer cancel()
	drafts := make([]*envelope, burst)
	err := atOnce(ctx, burst, func(ctx context.Context, i int) (err error) {
		drafts[i], err = w.client.draft(ctx, 1)
		return err
	})
	if err != nil {
		return err
	}
	before := w.mails.count()
	start := now()
	err = atOnce(ctx, burst, func(ctx context.Context, i int) error {
		_, err := w.client.Send(ctx, drafts[i].ID, "")
		return err
	})
	if err != nil {
		return err
	}
	accepted := now().Sub(start)
	for w.mails.count()-before < burst {
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d invitations were sent", w.mails.count()-before, burst)
		case <-time.After(50 * time.Millisecond):
		}
	}
	took := now().Sub(start)
	if n := w.mails.count() - before; n > burst {
		return fmt.Errorf("%d emails were sent for %d invitations", n, burst)
	}
	report("burst: %d envelopes sent              all accepted after %.1f s, all invited after %.1f s: %.0f invitations per second",
		burst, accepted.Seconds(), took.Seconds(), burst/took.Seconds())
	return nil
}

// measureBacklog queues many deliveries to an endpoint that never responds. It measures deliveries to a responding
// endpoint of another app, both before and during the backlog.
func (w *benchEnv) measureBacklog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*burstLimit)
	defer cancel()
	healthy, err := newEndpoint(ctx, 0)
	if err != nil {
		return err
	}
	dead, err := newEndpoint(ctx, hanging)
	if err != nil {
		return err
	}
	other, err := w.app(ctx, "Healthy")
	if err != nil {
		return err
	}
	good, err := other.endpoint(ctx, healthy.url, api.WebhookEventNameEnvelopeCompleted)
	if err != nil {
		return err
	}
	bad, err := w.client.endpoint(ctx, dead.url, api.WebhookEventNameEnvelopeCompleted)
	if err != nil {
		return err
	}
	quiet, err := other.pings(ctx, good, healthy)
	if err != nil {
		return err
	}
	start := now()
	if err := atOnce(ctx, backlog, func(ctx context.Context, _ int) error { return w.client.ping(ctx, bad) }); err != nil {
		return err
	}
	// Measure only the effect of an existing backlog, not the effect of creating it.
	if err := w.awaitEmptyOutbox(ctx); err != nil {
		return err
	}
	took := now().Sub(start)
	busy, err := other.pings(ctx, good, healthy)
	if err != nil {
		return err
	}
	waiting, err := w.client.API.ListDeliveriesWithResponse(ctx, &api.ListDeliveriesParams{Status: countersign.Ptr(api.DeliveryStatusPending), PageSize: countersign.Ptr(1)})
	if err != nil {
		return err
	}
	report("backlog: an unavailable endpoint        %d deliveries created and dispatched in %.0f s; %d attempted, %d pending", backlog, took.Seconds(), dead.calls.Load(), waiting.JSON200.Total)
	report("a healthy endpoint's delivery, p50      %s without the backlog, %s with it: %.2f times", ms(median(quiet)), ms(median(busy)), float64(median(busy))/float64(median(quiet)))
	return nil
}

// awaitEmptyOutbox waits until the outbox is empty, which means that all rows have been forwarded to Temporal.
func (w *benchEnv) awaitEmptyOutbox(ctx context.Context) error {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM outbox").Scan(&n); err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d outbox rows remain: %w", n, context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// endpoint is a webhook receiver that responds after a delay.
type endpoint struct {
	url      string
	received chan struct{} // receives a value for each request, up to the channel's capacity
	calls    atomic.Int64
}

func newEndpoint(ctx context.Context, after time.Duration) (*endpoint, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	e := &endpoint{url: "http://" + l.Addr().String() + "/", received: make(chan struct{}, pings)}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		e.calls.Add(1)
		select {
		case <-r.Context().Done():
			return
		case <-time.After(after):
		}
		rw.WriteHeader(http.StatusNoContent)
		select {
		case e.received <- struct{}{}:
		default:
		}
	})}
	go func() { _ = server.Serve(l) }() // runs until the process exits
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return e, nil
}

// endpoint registers a webhook and returns its ID.
func (c *client) endpoint(ctx context.Context, url string, event api.WebhookEventName) (uuid.UUID, error) {
	res, err := c.API.CreateWebhookWithResponse(ctx, nil, api.WebhookRequest{URL: url, Events: []api.WebhookEventName{event}})
	if err != nil {
		return uuid.Nil, err
	}
	return res.JSON201.ID, nil
}

func (c *client) ping(ctx context.Context, id uuid.UUID) error {
	_, err := c.API.PingWebhookWithResponse(ctx, id, nil)
	return err
}

// pings measures the time from an API call to the arrival of its delivery.
func (c *client) pings(ctx context.Context, id uuid.UUID, at *endpoint) ([]time.Duration, error) {
	var out []time.Duration
	for range pings {
		took, err := c.pingOnce(ctx, id, at)
		if err != nil {
			return nil, err
		}
		out = append(out, took)
	}
	return out, nil
}

func (c *client) pingOnce(ctx context.Context, id uuid.UUID, at *endpoint) (time.Duration, error) {
	start := now()
	if err := c.ping(ctx, id); err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("a delivery did not reach the healthy endpoint: %w", context.Cause(ctx))
	case <-at.received:
	}
	return now().Sub(start), nil
}
