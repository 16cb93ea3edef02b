package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
	"countersign/webhook"
)

// DeliverInput names a delivery and holds the delays before each attempt.
type DeliverInput struct {
	DeliveryID uuid.UUID       `json:"deliveryId"`
	Delays     []time.Duration `json:"delays"`
}

// Deliver makes one attempt at a delivery and records it. After a failed one
// the next follows on the schedule. A delivery that is settled already, or
// whose endpoint is gone, needs nothing.
func (a *Activities) Deliver(ctx context.Context, in DeliverInput) error {
	job, err := a.Store.DeliveryJob(ctx, in.DeliveryID)
	if errors.Is(err, models.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	attempt := int(activity.GetInfo(ctx).Attempt)
	at := a.Now().UTC().Truncate(time.Microsecond)
	res := a.Webhooks.Deliver(ctx, webhook.Request{
		URL: job.URL, EventID: job.Event.ID.String(), Body: job.Event.Body, Secret: job.Secret, At: at,
	})
	if ctx.Err() != nil {
		return ctx.Err() // cut off: it says nothing about the endpoint
	}
	record := models.DeliveryAttempt{
		DeliveryID: in.DeliveryID, At: at, Status: res.Status, LatencyMS: res.Latency.Milliseconds(), Body: res.Body,
	}
	if res.Err != nil {
		record.Error = res.Err.Error()
	}
	last := attempt >= len(in.Delays)
	if err := a.Store.RecordAttempt(ctx, record, res.OK(), last); err != nil {
		return err
	}
	if res.OK() {
		return nil
	}
	opts := sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign}
	if !last {
		opts.NextRetryDelay = max(in.Delays[attempt], res.RetryAfter)
	}
	return sdktemporal.NewApplicationErrorWithOptions("endpoint did not take the event", "NotDelivered", opts)
}

// AbandonDelivery marks a delivery as failed whose last attempt was cut off
// before it could say so.
func (a *Activities) AbandonDelivery(ctx context.Context, id uuid.UUID) error {
	return a.Store.AbandonDelivery(ctx, id)
}
