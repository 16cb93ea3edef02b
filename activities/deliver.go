package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/failpoint"
	"countersign/models"
	"countersign/notify"
	"countersign/notify/templates"
	"countersign/store"
	"countersign/webhook"
)

// DeliverInput identifies a delivery and contains the delay before each attempt.
type DeliverInput struct {
	DeliveryID uuid.UUID       `json:"deliveryId"`
	Delays     []time.Duration `json:"delays"`
	Resend     int             `json:"resend,omitempty"` // number of the resend, or zero for the first run
}

// DeliverResult is the result of an attempt that did not fail.
type DeliverResult struct {
	// Delivered reports whether the endpoint accepted the event. If it is false and Wait is zero, no delivery was
	// necessary.
	Delivered bool `json:"delivered,omitempty"`
	// Wait is the delay before the next attempt if the endpoint is at its concurrency limit. In that case no attempt
	// was made.
	Wait time.Duration `json:"wait,omitempty"`
	// Attempts is the number of recorded attempts of this run. It is set together with Wait.
	Attempts int `json:"made,omitempty"`
}

// Deliver makes one attempt at a delivery and records it. The number of the attempt is derived from the recorded
// attempts. After a failed attempt, the next one is scheduled. Deliver does nothing if the delivery is already settled.
func (a *Activities) Deliver(ctx context.Context, in DeliverInput) (DeliverResult, error) {
	job, err := a.Store.DeliveryJob(ctx, in.DeliveryID)
	if errors.Is(err, models.ErrNotFound) {
		// If the endpoint was deleted while the delivery was being created, the delivery is still pending and must be
		// settled here.
		return DeliverResult{}, a.Store.AbandonDelivery(ctx, in.DeliveryID, in.Resend)
	}
	if err != nil {
		return DeliverResult{}, err
	}
	if job.Delivery.Run != in.Resend {
		return DeliverResult{}, nil // another workflow has resent the delivery in the meantime
	}
	wait, err := a.attempt(ctx, in, job)
	if err != nil {
		return DeliverResult{}, err
	}
	if wait > 0 {
		return DeliverResult{Wait: wait, Attempts: job.Delivery.RunAttempts}, nil
	}
	return DeliverResult{Delivered: true}, nil
}

// attempt sends the event to the endpoint once. If the endpoint is at its concurrency limit, attempt returns the time
// to wait.
func (a *Activities) attempt(ctx context.Context, in DeliverInput, job *store.DeliveryJob) (wait time.Duration, err error) {
	attempt := job.Delivery.RunAttempts + 1
	if attempt > len(in.Delays) {
		return 0, deliveryError("all delivery attempts have been used", nil)
	}
	at := a.Now().UTC().Truncate(time.Microsecond)
	res := a.Webhooks.Deliver(ctx, webhook.Request{
		URL: job.URL, Endpoint: job.Delivery.WebhookID.String(), Failing: job.FailingSince != nil,
		EventID: job.Event.ID.String(), Body: job.Event.Body, Secrets: job.Secrets, At: at,
	})
	if res.Wait > 0 {
		return res.Wait, nil
	}
	failpoint.Inject("deliver.posted")
	if ctx.Err() != nil {
		return 0, ctx.Err() // an interruption does not count as a failure of the endpoint
	}
	record := models.DeliveryAttempt{
		DeliveryID: in.DeliveryID, At: at, Status: res.Status, LatencyMS: res.Latency.Milliseconds(), Body: res.Body,
	}
	if res.Err != nil {
		record.Error = res.Err.Error()
	}
	last := attempt >= len(in.Delays) || res.Gone
	var next time.Duration
	if !res.OK() && !last {
		next = max(in.Delays[attempt]+a.jitter(in.Delays[attempt]), res.RetryAfter)
		record.NextAt = new(a.Now().UTC().Truncate(time.Microsecond).Add(next))
	}
	disabled, err := a.Store.RecordAttempt(ctx, record, models.DeliveryOutcome{
		WebhookID: job.Delivery.WebhookID, Run: in.Resend, Delivered: res.OK(), Last: last, Gone: res.Gone,
	})
	if err != nil {
		return 0, a.unrecorded(ctx, in.Delays, err)
	}
	if disabled != "" {
		// A failure to send this email is not retried, because the console shows the same information.
		if err := a.reportDisabled(ctx, job, record); err != nil {
			activity.GetLogger(ctx).Warn("could not email the contact about a disabled endpoint", "webhook", job.Delivery.WebhookID, "error", err)
		}
	}
	if res.OK() {
		return 0, nil
	}
	if last {
		return 0, deliveryError(describeFailure(res), nil)
	}
	return 0, deliveryError(describeFailure(res), &next)
}

// jitter returns a random duration of up to a tenth of the given delay, so that deliveries that failed together are not
// retried together.
func (a *Activities) jitter(delay time.Duration) time.Duration {
	tenth := int64(delay / 10)
	if a.Random == nil || tenth == 0 {
		return 0
	}
	return time.Duration(a.Random(tenth))
}

// unrecorded returns the error for an attempt that was made but could not be recorded. The attempt is repeated with the
// same number, after the delay that the schedule specifies for the activity's attempt number. The delays grow, so a
// database that is read-only for days does not cause a request to the endpoint every minute.
func (a *Activities) unrecorded(ctx context.Context, delays []time.Duration, err error) error {
	next := delays[min(int(activity.GetInfo(ctx).Attempt), len(delays)-1)]
	return sdktemporal.NewApplicationErrorWithOptions("the delivery attempt could not be recorded", "NotRecorded",
		sdktemporal.ApplicationErrorOptions{Cause: err, NextRetryDelay: next + a.jitter(next)})
}

// ErrTypeNotDelivered is the error type of failed deliveries. The error's message is the result of the attempt,
// without addresses or sent content.
const ErrTypeNotDelivered = "NotDelivered"

// describeFailure returns the reason why the endpoint did not accept the event.
func describeFailure(res webhook.Result) string {
	if res.Err != nil {
		return res.Err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("the endpoint responded with %d %s", res.Status, http.StatusText(res.Status)))
}

// deliveryError returns the error for a failed attempt. If again is nil, the activity must not be retried. Otherwise,
// again contains the delay before the retry.
func deliveryError(why string, again *time.Duration) error {
	return sdktemporal.NewApplicationErrorWithOptions(why, ErrTypeNotDelivered, sdktemporal.ApplicationErrorOptions{
		Category: sdktemporal.ApplicationErrorCategoryBenign, NonRetryable: again == nil, NextRetryDelay: models.Deref(again, 0),
	})
}

// reportDisabled notifies the app's contact that an endpoint was disabled.
func (a *Activities) reportDisabled(ctx context.Context, job *store.DeliveryJob, last models.DeliveryAttempt) error {
	app, err := a.Store.App(ctx, job.Delivery.AppID)
	if err != nil || app.Contact == "" {
		return err
	}
	v, err := a.mailSettingsFor(ctx, app.ID, "")
	if err != nil {
		return err
	}
	content, err := templates.WebhookDisabled{
		Language: v.language, URL: job.URL, Since: models.Deref(job.FailingSince, last.At), LastError: last.Failure(), ConsoleURL: a.BaseURL + "/console",
	}.Render()
	if err != nil {
		return err
	}
	return a.Mail.Send(ctx, notify.Mail{
		Kind: string(models.MailHook), To: notify.Address{Email: app.Contact}, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		MessageID: a.Mail.MessageID("webhook-disabled", job.Delivery.WebhookID.String(), last.At.Format(time.DateOnly)),
	})
}

// AbandonDelivery marks a delivery as failed if its last attempt was interrupted before the failure was recorded. It
// has no effect if a later resend has started.
func (a *Activities) AbandonDelivery(ctx context.Context, id uuid.UUID, resend int) error {
	return a.Store.AbandonDelivery(ctx, id, resend)
}
