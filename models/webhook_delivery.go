package models

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

// The states of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is the delivery of one event to one endpoint.
type Delivery struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	AppID       uuid.UUID
	WebhookID   uuid.UUID
	EventID     uuid.UUID
	EnvelopeID  uuid.UUID
	Event       EventName
	Status      DeliveryStatus
	Attempts    int
	Run         int // the number of resends
	RunAttempts int // the attempts since the last resend
	CreatedAt   time.Time
	DeliveredAt *time.Time
	FailedAt    *time.Time
}

// TableName is the table of deliveries.
func (Delivery) TableName() string { return "webhook_deliveries" }

// SettledBefore reports whether the delivery was settled before a time.
func (d *Delivery) SettledBefore(at time.Time) bool {
	if d.Status == DeliveryPending {
		return false
	}
	return Deref(firstNonNil(d.DeliveredAt, d.FailedAt), d.CreatedAt).Before(at)
}

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	DeliveryID uuid.UUID
	Number     int // from 1, over all runs of the delivery
	At         time.Time
	Status     int    // HTTP status; 0 without a response
	LatencyMS  int64  `gorm:"column:latency_ms"`
	Error      string // reason for the missing response, without sensitive text
	Body       []byte // the first 4 KiB of the response
	// NextAt is the due time of the next attempt; nil if none follows.
	NextAt *time.Time
}

// Failure returns the reason that an attempt failed, without sensitive text.
func (a *DeliveryAttempt) Failure() string {
	if a.Error != "" {
		return a.Error
	}
	return fmt.Sprintf("HTTP status %d", a.Status)
}

// DeliveryOutcome is the outcome of an attempt of a delivery.
type DeliveryOutcome struct {
	WebhookID uuid.UUID
	Run       int // the run of the delivery that the attempt belongs to
	Delivered bool
	Last      bool // no further attempt follows
	Gone      bool // the endpoint no longer exists
}

// MaxRuns limits the number of times that one delivery can be sent again.
const MaxRuns = 100

// Record numbers an attempt and settles the delivery: delivered on success, failed if it was the last attempt of its
// run and the delivery was not resent in the meantime.
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

// Resend sends the delivery to the endpoint w again; a nil w means that the endpoint was deleted. A pending delivery is
// attempted at once: the run waiting for the next attempt ends without it.
func (d *Delivery) Resend(w *Webhook) error {
	if w == nil {
		return Refuse(KindConflict, "webhook_deleted", "The endpoint was deleted.")
	}
	if err := w.CanDeliver(); err != nil {
		return err
	}
	if d.Run >= MaxRuns {
		return Refuse(KindConflict, "delivery_exhausted", "The delivery was resent %d times, which is the maximum.", MaxRuns)
	}
	d.Status, d.Run, d.RunAttempts, d.FailedAt, d.DeliveredAt = DeliveryPending, d.Run+1, 0, nil, nil
	return nil
}
