package models

import (
	"time"

	"github.com/google/uuid"
)

// OutboxKind names the workflow or signal of an outbox row.
type OutboxKind string

// The kinds of outbox rows. Rows with an envelope's id go to its workflow.
const (
	OutboxStart         OutboxKind = "start"           // start the envelope's workflow
	OutboxSigned        OutboxKind = "signer-signed"   // signal
	OutboxDeclined      OutboxKind = "signer-declined" // signal
	OutboxVoided        OutboxKind = "voided"          // signal
	OutboxSealingFailed OutboxKind = "sealing-failed"  // signal
	OutboxDeliver       OutboxKind = "deliver"         // start a delivery's workflow
	OutboxReinvite      OutboxKind = "invite"          // start the sending of a renewed link, or of a reminder
	OutboxDeletion      OutboxKind = "remind-deletion" // start a reminder that sealed files will be deleted
	OutboxRescheduled   OutboxKind = "rescheduled"     // signal: deadline or reminders were changed
	OutboxCopies        OutboxKind = "copies"          // send the sealed files again to a recipient who lost them
	OutboxTimestamp     OutboxKind = "timestamp"       // start the adding of time-stamps that are awaited
	OutboxBulk          OutboxKind = "bulk"            // start or signal a bulk send: its state was changed
	OutboxNotify        OutboxKind = "notify"          // notify the sender of an event; the row has the event's id
	OutboxDigest        OutboxKind = "digest"          // send a console user, the key, the digest of events up to the row's creation
)

// OutboxRow is a fact that has not yet been delivered to Temporal. Rows with one Key are delivered in order.
type OutboxRow struct {
	Seq int64     `gorm:"->;primaryKey;autoIncrement:false"` // the database counts
	ID  uuid.UUID // request id, by which Temporal drops repeats
	Key uuid.UUID // envelope or delivery
	// FairnessKey shares the claims: see OutboxRefs.FairnessKey.
	FairnessKey uuid.UUID `gorm:"column:lane"`
	Kind        OutboxKind
	Refs        OutboxRefs `gorm:"serializer:json"`
	Attempts    int
	NotBefore   time.Time
	CreatedAt   time.Time
}

// TableName is the table of outbox rows.
func (OutboxRow) TableName() string { return "outbox" }

// ListedBy is the id by which rows that start lost workflows are listed: an envelope can have several copies, reminders
// and notifications.
func (r OutboxRow) ListedBy() uuid.UUID {
	if r.Kind == OutboxCopies || r.Kind == OutboxNotify || r.Refs.Reminder {
		return r.ID
	}
	return r.Key
}

// OutboxRefs are the ids that a row carries along.
type OutboxRefs struct {
	AppID     uuid.UUID  `json:"appId"`
	TenantID  string     `json:"tenantId,omitempty"`
	SignerID  *uuid.UUID `json:"signerId,omitempty"`
	WebhookID *uuid.UUID `json:"webhookId,omitempty"`
	// EnvelopeID is the envelope of a delivery; nil for a ping.
	EnvelopeID *uuid.UUID `json:"envelopeId,omitempty"`
	// Bulk reports whether a bulk send sent the envelope.
	Bulk bool `json:"bulk,omitempty"`
	// LinkID is the signer's renewed link, for OutboxReinvite; for a copy recipient, the event that requests the
	// notice.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Resend is the number of a delivery's resend; 0 for the first delivery.
	Resend int `json:"resend,omitempty"`
	// Reminder makes OutboxReinvite send a reminder with the current link.
	Reminder bool `json:"reminder,omitempty"`
	// Days is the number of days left before the deletion, for OutboxDeletion.
	Days int `json:"days,omitempty"`
	// Restart starts the workflow again even if it completed successfully before.
	Restart bool `json:"restart,omitempty"`
	// Trace is the W3C traceparent of the step that wrote the row; "" without tracing.
	Trace string `json:"trace,omitempty"`
}

// FairnessKey returns the owner of the row's work: the endpoint of a delivery, an app's bulk sends for the envelopes
// they send, and the app for all other work. Claims from the outbox and Temporal's task queues are shared equally
// between the keys, so that no key waits for another's backlog.
func (r OutboxRefs) FairnessKey() uuid.UUID {
	if r.WebhookID != nil {
		return *r.WebhookID
	}
	if r.Bulk {
		return BulkFairnessKey(r.AppID)
	}
	return r.AppID
}
