// Package activities implements the activities of the workflows. Each activity loads by id, calls one of seal, notify,
// webhook or store, and returns ids. An activity may run more than once and is idempotent.
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

// Mailer sends mails.
type Mailer interface {
	Send(ctx context.Context, m notify.Mail) error
	MessageID(parts ...string) string
}

// Sealer seals documents.
type Sealer interface {
	Seal(ctx context.Context, out *os.File, job seal.Job) (seal.Result, error)
	renewal.Sealer
}

// Deliverer posts webhooks.
type Deliverer interface {
	Deliver(ctx context.Context, req webhook.Request) webhook.Result
}

// Activities does the work. All fields but SMS, the limits, Anchors, Restarted, BulkPace and Random are needed.
type Activities struct {
	Store  *store.Store
	Blobs  blob.Store
	Tokens *credential.Tokens
	Mail   Mailer
	SMS    notify.SMS // nil: no text messages
	Sealer Sealer
	// SealLimit limits how many envelopes are sealed at the same time; nil: no limit.
	SealLimit *limit.Limit
	// StampLimit limits for how many envelopes the time-stamp authority is called at the same time; nil: no limit.
	StampLimit *limit.Limit
	// CopyLimit limits how many envelopes have their copies sent by Seal at the same time; nil: no limit.
	CopyLimit *limit.Limit
	// MailLimit limits the emails of one app; nil: no limit.
	MailLimit  *MailLimit
	Webhooks   Deliverer
	Anchors    Anchorer // nil: the audit trail is not anchored
	Reconciler Reconciler
	// Restarted counts restarted workflows by kind; nil: no counting.
	Restarted func(kind string, n int)
	// BaseURL and SigningURL begin the links in mails.
	BaseURL, SigningURL string
	// AttachmentLimit is the size in bytes up to which sealed PDFs are attached.
	AttachmentLimit int64
	// ReminderInterval is the time between reminders; 0: no reminders.
	ReminderInterval time.Duration
	// ArchiveAfter is the time from the last change of an ended envelope to its archiving; 0: never.
	ArchiveAfter time.Duration
	Now          func() time.Time
	NewID        func() uuid.UUID
	// BulkPace limits bulk sends; nil: the worker creates one.
	BulkPace *BulkPace
	// Random returns a number from 0 up to, not including, n; nil: delays are exact.
	Random func(n int64) int64
}

func (a *Activities) systemContext() models.ActionContext {
	return models.ActionContext{At: a.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: a.NewID}
}

// LoadPlan returns the plan of an envelope's workflow.
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

// Expire closes the envelope if its deadline has passed and it is still open. It returns the envelope's resulting
// state.
func (a *Activities) Expire(ctx context.Context, in temporal.EnvelopeInput) (models.Status, error) {
	_, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error { return e.Expire(a.systemContext()) })
	if err == nil {
		return models.StatusExpired, nil
	}
	if !models.IsRefusal(err) {
		return "", err
	}
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return "", nonRetryable(err)
	}
	return e.Status, nil
}

// nonRetryable keeps a refusal from being retried: trying again cannot change it.
// Everything else is left to the retry policy.
func nonRetryable(err error) error {
	if e, ok := errors.AsType[*models.Error](err); ok && models.IsRefusal(err) {
		return sdktemporal.NewNonRetryableApplicationError(e.Message, e.Code, nil)
	}
	return err
}
