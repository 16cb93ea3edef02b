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

// RoomForWebhook returns an error if an app with n endpoints cannot have another one.
func RoomForWebhook(n int64) error {
	if n >= MaxWebhooks {
		return Refuse(KindConflict, "too_many_webhooks", "An app can register at most %d endpoints. Delete one first.", MaxWebhooks)
	}
	return nil
}

// Webhook is an endpoint that subscribes to events.
type Webhook struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	URL       string           `gorm:"column:url"`
	Events    []EventName      `gorm:"serializer:json"`
	Secret    []byte           // vault; nil: the client secret signs
	Include   []WebhookInclude `gorm:"serializer:json"` // beyond the ordinary body
	Active    bool
	CreatedAt time.Time

	PreviousSecret []byte     // vault; signs together with Secret until PreviousUntil
	PreviousUntil  *time.Time // nil: no previous secret
	FailingSince   *time.Time // the first failure of an unbroken run; nil: the last attempt went well
	LastError      string     // why the last attempt failed, in safe words
	DisabledAt     *time.Time // when the service switched it off
	DisabledReason string     // "gone" or "failing"; "" while it is active or paused by its owner

	// Tenants are the tenants of its app (empty: all), if they were loaded with it.
	Tenants []string `gorm:"-"`
}

// Reasons why the service switches an endpoint off.
const (
	DisabledGone    = "gone"    // the endpoint returned 410
	DisabledFailing = "failing" // no delivery succeeded for days
)

// SubscribesTo reports whether the endpoint subscribes to the event, of a tenant that its app may act for.
func (w *Webhook) SubscribesTo(n EventName, tenant string) bool {
	return w.Active && slices.Contains(w.Events, n) && allowsTenant(w.Tenants, tenant)
}

// WebhookInclude is optional data in the body of an endpoint's deliveries.
type WebhookInclude string

// IncludeValues requests data.values in the events that have values.
const IncludeValues WebhookInclude = "values"

// Valid reports whether i is something that can be asked for.
func (i WebhookInclude) Valid() bool { return i == IncludeValues }

// GetsValues reports whether the endpoint receives entered values with the event.
func (w *Webhook) GetsValues(n EventName) bool {
	return (n == EventSignerSigned || n == EventEnvelopeCompleted) && slices.Contains(w.Include, IncludeValues)
}

// WebhookEvent is an event as delivered to the app's endpoints and listed in its feed.
type WebhookEvent struct {
	ID         uuid.UUID `gorm:"primaryKey"` // of the audit event; consumers deduplicate by it
	AppID      uuid.UUID
	EnvelopeID uuid.UUID
	TenantID   string
	Name       EventName
	Body       []byte
	ValuesBody []byte // Body with data.values; nil if no endpoint includes them
	CreatedAt  time.Time
}

// BodyFor is the body that an endpoint gets.
func (ev *WebhookEvent) BodyFor(w *Webhook) []byte {
	if ev.ValuesBody != nil && w.GetsValues(ev.Name) {
		return ev.ValuesBody
	}
	return ev.Body
}

// CanDeliver returns an error if the endpoint is disabled.
func (w *Webhook) CanDeliver() error {
	if !w.Active {
		return Refuse(KindConflict, "webhook_inactive", "The endpoint is inactive. Resume it first.")
	}
	return nil
}

// SetActive pauses or resumes the endpoint. Resuming also enables an endpoint that the service disabled.
func (w *Webhook) SetActive(active bool) {
	w.Active = active
	if active {
		w.forgive()
		w.DisabledAt, w.DisabledReason = nil, ""
	}
}

// forgive forgets the failures so far.
func (w *Webhook) forgive() { w.FailingSince, w.LastError = nil, "" }

// WebhookChange is a change of an endpoint; nil members stay.
type WebhookChange struct {
	URL    *string
	Events []EventName
	// Include replaces the included data; an empty list includes nothing.
	Include []WebhookInclude
}

// Change changes the endpoint. A new address resets the recorded failures, which belong to the previous one.
func (w *Webhook) Change(c WebhookChange) {
	if c.URL != nil && *c.URL != w.URL {
		w.URL = *c.URL
		w.forgive()
	}
	if c.Events != nil {
		w.Events = c.Events
	}
	if c.Include != nil {
		w.Include = c.Include
	}
}

// RotateSecret replaces the secret; nil means the client secret. The previous secret also signs until then.
func (w *Webhook) RotateSecret(secret, previous []byte, until time.Time) {
	w.Secret, w.PreviousSecret, w.PreviousUntil = secret, previous, &until
}

// PreviousSigns reports whether the previous secret still signs.
func (w *Webhook) PreviousSigns(at time.Time) bool {
	return w.PreviousSecret != nil && w.PreviousUntil != nil && at.Before(*w.PreviousUntil)
}

// UpdateHealth records the result of an attempt, and disables an endpoint that is gone or has failed for too long. It
// returns the reason, or "" if the endpoint stays enabled.
func (w *Webhook) UpdateHealth(a *DeliveryAttempt, o DeliveryOutcome) (disabled string) {
	if o.Delivered {
		w.forgive()
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
