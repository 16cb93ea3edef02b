package models

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is the delivery of an event to an endpoint.
type Delivery struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	AppID       uuid.UUID
	WebhookID   uuid.UUID
	EventID     uuid.UUID
	EnvelopeID  uuid.UUID
	Event       EventName
	Status      DeliveryStatus
	Attempts    int
	Run         int // number of resends
	RunAttempts int // number of attempts since the last resend
	CreatedAt   time.Time
	DeliveredAt *time.Time
	FailedAt    *time.Time
}

// TableName returns the name of the database table.
func (Delivery) TableName() string { return "webhook_deliveries" }

// SettledBefore reports whether the delivery was settled before the given time.
func (d *Delivery) SettledBefore(at time.Time) bool {
	if d.Status == DeliveryPending {
		return false
	}
	return Deref(firstNonNil(d.DeliveredAt, d.FailedAt), d.CreatedAt).Before(at)
}

// DeliveryAttempt is an attempt to deliver an event.
type DeliveryAttempt struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	DeliveryID uuid.UUID
	Number     int // starts at 1 and counts across all runs of the delivery
	At         time.Time
	Status     int    // HTTP status, or 0 if there was no response
	LatencyMS  int64  `gorm:"column:latency_ms"`
	Error      string // reason for the missing response; contains nothing sensitive
	Body       []byte // first 4 KiB of the response
	// NextAt is the due time of the next attempt, or nil if none follows.
	NextAt *time.Time
}

// Failure returns the reason why an attempt failed, without sensitive text.
func (a *DeliveryAttempt) Failure() string {
	if a.Error != "" {
		return a.Error
	}
	return fmt.Sprintf("HTTP status %d", a.Status)
}

// DeliveryOutcome is the outcome of a delivery attempt.
type DeliveryOutcome struct {
	WebhookID uuid.UUID
	Run       int // the run of the delivery to which the attempt belongs
	Delivered bool
	Last      bool // whether this was the last attempt
	Gone      bool // whether the endpoint no longer exists
}

// MaxRuns is the maximum number of times that a delivery can be resent.
const MaxRuns = 100

// Record assigns a number to an attempt and updates the status of the delivery. The delivery is complete if the
// attempt succeeded. It fails if this was the last attempt of its run and the delivery was not resent in the meantime.
func (d *Delivery) Record(a *DeliveryAttempt, o DeliveryOutcome) {
	d.Attempts++
	a.Number = d.Attempts
	current := o.Run == d.Run
	if current {
		d.RunAttempts++
	}
	switch {
	case o.Delivered:
		d.Status, d.DeliveredAt, d.FailedAt = DeliveryDelivered, &a.At, nil
	case o.Last && current && d.Status == DeliveryPending:
		d.Status, d.FailedAt = DeliveryFailed, &a.At
	}
}

// Resend starts a new run that delivers the event to the endpoint w again. A nil w means that the endpoint was
// deleted. Resending a pending delivery ends its current run, and the next attempt is made immediately.
func (d *Delivery) Resend(w *Webhook) error {
	if w == nil {
		return Reject(KindConflict, "webhook_deleted", "The endpoint was deleted.")
	}
	if err := w.CanDeliver(); err != nil {
		return err
	}
	if d.Run >= MaxRuns {
		return Reject(KindConflict, "delivery_exhausted", "The delivery was resent %d times, which is the maximum.", MaxRuns)
	}
	d.Status, d.Run, d.RunAttempts, d.FailedAt, d.DeliveredAt = DeliveryPending, d.Run+1, 0, nil, nil
	return nil
}
