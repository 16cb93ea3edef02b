// Package activities implements the activities of the workflows. Each activity loads its objects by ID, calls the
// package seal, notify, webhook or store, and returns a small result. Activities are idempotent, because each one may
// run more than once.
package activities

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/credential"
	"countersign/internal/limit"
	"countersign/models"
	"countersign/notify"
	"countersign/operate/renewal"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/webhook"
)

// Mailer sends emails.
type Mailer interface {
	Send(ctx context.Context, m notify.Mail) error
	MessageID(parts ...string) string
}

// Sealer seals documents.
type Sealer interface {
	Seal(ctx context.Context, out *os.File, job seal.Job) (seal.Result, error)
	renewal.Sealer
}

// Deliverer delivers events to webhook endpoints.
type Deliverer interface {
	Deliver(ctx context.Context, req webhook.Request) webhook.Result
}

// Activities implements all activities. SMS, the limits, Anchors, Restarted, BulkThrottle and Random are optional; all
// other fields are required.
type Activities struct {
	Store  *store.Store
	Blobs  blob.Store
	Tokens *credential.Tokens
	Mail   Mailer
	SMS    notify.SMS // nil if text messages are not configured
	Sealer Sealer
	// SealLimit limits the number of envelopes that are sealed at the same time. If it is nil, there is no limit.
	SealLimit *limit.Limit
	// StampLimit limits the number of envelopes for which time-stamps are requested at the same time. If it is nil,
	// there is no limit.
	StampLimit *limit.Limit
	// CopyLimit limits the number of envelopes whose copies Seal sends at the same time. If it is nil, there is no
	// limit.
	CopyLimit *limit.Limit
	// MailLimit limits the concurrent email activities of one app. If it is nil, there is no limit.
	MailLimit  *MailLimit
	Webhooks   Deliverer
	Anchors    Anchorer // nil if the audit trail is not anchored
	Reconciler Reconciler
	// Restarted counts restarted workflows by kind. If it is nil, they are not counted.
	Restarted func(kind string, n int)
	// BaseURL and SigningURL are the prefixes of the links in emails.
	BaseURL, SigningURL string
	// AttachmentLimit is the maximum total size, in bytes, of sealed PDFs that are attached to an email.
	AttachmentLimit int64
	// ReminderInterval is the time between reminders. Zero disables reminders.
	ReminderInterval time.Duration
	// ArchiveAfter is how long after its last change an ended envelope is archived. Zero disables archiving.
	ArchiveAfter time.Duration
	Now          func() time.Time
	NewID        func() uuid.UUID
	// BulkThrottle limits bulk sends. If it is nil, the worker creates one.
	BulkThrottle *BulkThrottle
	// Random returns a random number in [0, n). If it is nil, delays have no jitter.
	Random func(n int64) int64
}

func (a *Activities) systemContext() models.ActionContext {
	return models.ActionContext{At: a.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: a.NewID}
}

// LoadPlan returns the plan for an envelope's workflow.
func (a *Activities) LoadPlan(ctx context.Context, in temporal.EnvelopeInput) (temporal.Plan, error) {
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return temporal.Plan{}, nonRetryable(err)
	}
	_, settings, err := a.Store.Settings(ctx, in.AppID, e.TenantID)
	if err != nil {
		return temporal.Plan{}, err
	}
	mails, err := a.Store.Mails(ctx, e.ID)
	if err != nil {
		return temporal.Plan{}, err
	}
	p := temporal.Plan{
		Status: e.Status, Since: e.OpenSince(), Deadline: e.ExpiresAt, RenewAt: e.NextRenewal(), ReminderEvery: e.ReminderInterval(settings.ReminderInterval(a.ReminderInterval)),
		Problem: models.Deref(e.SealingProblem, ""),
	}
	p.RemindAt = e.NextReminder(mails, p.ReminderEvery)
	p.Signers, p.Copies = e.Routing()
	return p, nil
}

// Expire closes the envelope if its deadline has passed and it is still open. It returns the resulting status.
func (a *Activities) Expire(ctx context.Context, in temporal.EnvelopeInput) (models.Status, error) {
	_, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.Expire(a.systemContext()) })
	if err == nil {
		return models.StatusExpired, nil
	}
	if !models.IsRejection(err) {
		return "", err
	}
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return "", nonRetryable(err)
	}
	return e.Status, nil
}

// nonRetryable marks a rejection as non-retryable, because a retry cannot succeed. It returns any other error
// unchanged, so that the retry policy applies.
func nonRetryable(err error) error {
	if e, ok := errors.AsType[*models.Error](err); ok && models.IsRejection(err) {
		return sdktemporal.NewNonRetryableApplicationError(e.Message, e.Code, nil)
	}
	return err
}
