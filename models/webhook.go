package models

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// MaxWebhooks is the maximum number of endpoints of an app.
const MaxWebhooks = 100

// DisableAfter is the time without a successful delivery after which a failing endpoint is disabled.
const DisableAfter = 5 * 24 * time.Hour

// CheckWebhookLimit returns an error if an app with n endpoints cannot register another one.
func CheckWebhookLimit(n int64) error {
	if n >= MaxWebhooks {
		return Reject(KindConflict, "too_many_webhooks", "An app can register at most %d endpoints. Delete one first.", MaxWebhooks)
	}
	return nil
}

// Webhook is an endpoint that subscribes to events.
type Webhook struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	URL       string           `gorm:"column:url"`
	Events    []EventName      `gorm:"serializer:json"`
	Secret    []byte           // encrypted by the vault; nil for the client secret
	Include   []WebhookInclude `gorm:"serializer:json"` // optional parts of the body
	Active    bool
	CreatedAt time.Time

	PreviousSecret []byte     // encrypted by the vault; used in addition to Secret until PreviousUntil
	PreviousUntil  *time.Time // nil if there is no previous secret
	FailingSince   *time.Time // start of the current run of failures; nil if the last attempt succeeded
	LastError      string     // reason for the last failure; safe to display
	DisabledAt     *time.Time // time at which the service disabled the endpoint
	DisabledReason string     // "gone" or "failing"; "" if the endpoint is active, or was paused by its owner

	// Tenants lists the app's tenants (empty for all) if they were loaded with the endpoint.
	Tenants []string `gorm:"-"`
}

// Reasons why the service disables an endpoint.
const (
	DisabledGone    = "gone"    // the endpoint returned 410
	DisabledFailing = "failing" // no delivery has succeeded for days
)

// SubscribesTo reports whether the endpoint is active and subscribes to the event, and whether its app may access the
// tenant.
func (w *Webhook) SubscribesTo(n EventName, tenant string) bool {
	return w.Active && slices.Contains(w.Events, n) && allowsTenant(w.Tenants, tenant)
}

// WebhookInclude is an optional part of the bodies delivered to an endpoint.
type WebhookInclude string

// IncludeValues requests data.values in the events that have values.
const IncludeValues WebhookInclude = "values"

// Valid reports whether i is a known optional part.
func (i WebhookInclude) Valid() bool { return i == IncludeValues }

// ReceivesValues reports whether the endpoint receives entered values with the event.
func (w *Webhook) ReceivesValues(n EventName) bool {
	return (n == EventSignerSigned || n == EventEnvelopeCompleted) && slices.Contains(w.Include, IncludeValues)
}

// WebhookEvent is an event as delivered to the app's endpoints and listed in the app's event feed.
type WebhookEvent struct {
	ID         uuid.UUID `gorm:"primaryKey"` // ID of the audit event, which consumers use for deduplication
	AppID      uuid.UUID
	EnvelopeID uuid.UUID
	TenantID   string
	Name       EventName
	Body       []byte
	ValuesBody []byte // Body with data.values; nil if no endpoint includes values
	CreatedAt  time.Time
}

// BodyFor returns the body that is delivered to an endpoint.
func (ev *WebhookEvent) BodyFor(w *Webhook) []byte {
	if ev.ValuesBody != nil && w.ReceivesValues(ev.Name) {
		return ev.ValuesBody
	}
	return ev.Body
}

// CanDeliver returns an error unless the endpoint is active.
func (w *Webhook) CanDeliver() error {
	if !w.Active {
		return Reject(KindConflict, "webhook_inactive", "The endpoint is inactive. Resume it first.")
	}
	return nil
}

// SetActive pauses or resumes the endpoint. Resuming also enables an endpoint that the service disabled.
func (w *Webhook) SetActive(active bool) {
	w.Active = active
	if active {
		w.resetFailures()
		w.DisabledAt, w.DisabledReason = nil, ""
	}
}

func (w *Webhook) resetFailures() { w.FailingSince, w.LastError = nil, "" }

// WebhookChange describes the changes to an endpoint. Nil fields are left unchanged.
type WebhookChange struct {
	URL    *string
	Events []EventName
	// Include replaces the optional parts. An empty list removes all of them.
	Include []WebhookInclude
}

// Change applies the changes to the endpoint. A new address resets the recorded failures, because they belong to the
// previous address.
func (w *Webhook) Change(c WebhookChange) {
	if c.URL != nil && *c.URL != w.URL {
		w.URL = *c.URL
		w.resetFailures()
	}
	if c.Events != nil {
		w.Events = c.Events
	}
	if c.Include != nil {
		w.Include = c.Include
	}
}

// RotateSecret replaces the secret. A nil secret means the client secret. Until the given time, deliveries are also
// signed with the previous secret.
func (w *Webhook) RotateSecret(secret, previous []byte, until time.Time) {
	w.Secret, w.PreviousSecret, w.PreviousUntil = secret, previous, &until
}

// PreviousSigns reports whether deliveries are also signed with the previous secret at the given time.
func (w *Webhook) PreviousSigns(at time.Time) bool {
	return w.PreviousSecret != nil && w.PreviousUntil != nil && at.Before(*w.PreviousUntil)
}

// UpdateHealth records the result of an attempt, and disables an endpoint that is gone or has been failing for too
// long. It returns the reason for disabling the endpoint, or "" if this attempt does not disable it.
func (w *Webhook) UpdateHealth(a *DeliveryAttempt, o DeliveryOutcome) (disabled string) {
	if o.Delivered {
		w.resetFailures()
		return ""
	}
	if w.FailingSince == nil {
		w.FailingSince = &a.At
	}
	w.LastError = a.Failure()
	switch {
	case !w.Active:
		return ""
	case o.Gone:
		disabled = DisabledGone
	case a.At.Sub(*w.FailingSince) >= DisableAfter:
		disabled = DisabledFailing
	default:
		return ""
	}
	w.Active, w.DisabledAt, w.DisabledReason = false, &a.At, disabled
	return disabled
}
