package models

import (
	"time"

	"github.com/google/uuid"
)

// OutboxKind specifies which workflow to start or signal for an outbox row.
type OutboxKind string

// The kinds of outbox rows. Signals are sent to the workflow of the envelope to which the row refers.
const (
	OutboxStart         OutboxKind = "start"           // starts the envelope's workflow
	OutboxSigned        OutboxKind = "signer-signed"   // signal
	OutboxDeclined      OutboxKind = "signer-declined" // signal
	OutboxVoided        OutboxKind = "voided"          // signal
	OutboxSealingFailed OutboxKind = "sealing-failed"  // signal
	OutboxDeliver       OutboxKind = "deliver"         // starts a delivery's workflow
	OutboxReinvite      OutboxKind = "invite"          // sends a renewed link or a reminder
	OutboxDeletion      OutboxKind = "remind-deletion" // reminds recipients that sealed files will be deleted
	OutboxRescheduled   OutboxKind = "rescheduled"     // signal that the deadline or reminders were changed
	OutboxCopies        OutboxKind = "copies"          // sends the sealed files to a recipient again
	OutboxTimestamp     OutboxKind = "timestamp"       // adds the missing time-stamps
	OutboxBulk          OutboxKind = "bulk"            // starts a bulk send, or signals that it was changed
	OutboxNotify        OutboxKind = "notify"          // notifies the sender about the event with the row's ID
	OutboxDigest        OutboxKind = "digest"          // sends the user identified by Key a digest of the events up to the row's creation
)

// OutboxRow is a message that has not been delivered to Temporal yet. Rows with the same Key are delivered in order.
type OutboxRow struct {
	Seq int64     `gorm:"->;primaryKey;autoIncrement:false"` // assigned by the database
	ID  uuid.UUID // request ID that Temporal uses to ignore repeated requests
	Key uuid.UUID // ID of an envelope, delivery or other object
	// FairnessKey is used to distribute claims fairly (see OutboxRefs.FairnessKey).
	FairnessKey uuid.UUID `gorm:"column:lane"`
	Kind        OutboxKind
	Refs        OutboxRefs `gorm:"serializer:json"`
	Attempts    int
	NotBefore   time.Time
	CreatedAt   time.Time
}

// TableName returns the name of the database table.
func (OutboxRow) TableName() string { return "outbox" }

// ListedBy returns the ID by which rows are ordered in the list of unfinished work. For copies, reminders and
// notifications, it is the row's own ID, because an envelope can have several of each.
func (r OutboxRow) ListedBy() uuid.UUID {
	if r.Kind == OutboxCopies || r.Kind == OutboxNotify || r.Refs.Reminder {
		return r.ID
	}
	return r.Key
}

// OutboxRefs contains the IDs and other data of a row.
type OutboxRefs struct {
	AppID     uuid.UUID  `json:"appId"`
	TenantID  string     `json:"tenantId,omitempty"`
	SignerID  *uuid.UUID `json:"signerId,omitempty"`
	WebhookID *uuid.UUID `json:"webhookId,omitempty"`
	// EnvelopeID is the envelope of a delivery, or nil for a ping.
	EnvelopeID *uuid.UUID `json:"envelopeId,omitempty"`
	// Bulk reports whether the envelope was sent by a bulk send.
	Bulk bool `json:"bulk,omitempty"`
	// LinkID is the signer's renewed link for OutboxReinvite. For a copy recipient, it is the event that requested the
	// notice.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Resend is the number of times that the delivery has been resent.
	Resend int `json:"resend,omitempty"`
	// Reminder means that OutboxReinvite sends a reminder with the current link.
	Reminder bool `json:"reminder,omitempty"`
	// Days is the number of days left before the files are deleted, for OutboxDeletion.
	Days int `json:"days,omitempty"`
	// Restart means that the workflow is started again even if it has completed successfully.
	Restart bool `json:"restart,omitempty"`
	// Trace is the W3C traceparent of the step that wrote the row, or "" without tracing.
	Trace string `json:"trace,omitempty"`
}

// FairnessKey returns the owner of the row's work. A delivery belongs to its endpoint, an envelope of a bulk send
// belongs to the app's bulk sends, and all other work belongs to the app. Claims from the outbox and Temporal's task
// queues give each key an equal share, so that no key waits for the backlog of another.
func (r OutboxRefs) FairnessKey() uuid.UUID {
	if r.WebhookID != nil {
		return *r.WebhookID
	}
	if r.Bulk {
		return BulkFairnessKey(r.AppID)
	}
	return r.AppID
}
