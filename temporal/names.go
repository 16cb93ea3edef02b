// Package temporal connects the rest of Countersign to Temporal. It defines the names of queues, workflows and signals,
// and provides the client and the dispatcher that delivers outbox rows.
package temporal

import (
	"strconv"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
)

// Task queues. Sealing has its own queue because it is CPU-bound. Webhooks and email have their own queues because a
// slow endpoint or a hanging mail server must not delay other work. Bulk sends have their own queue because only a few
// of their batches run concurrently.
const (
	QueueMain     = "countersign"
	QueueSeal     = "countersign-seal"
	QueueWebhooks = "countersign-webhooks"
	QueueBulk     = "countersign-bulk"
	QueueMail     = "countersign-mail"
)

// Queues lists all task queues.
var Queues = []string{QueueMain, QueueSeal, QueueWebhooks, QueueBulk, QueueMail}

// Workflow types.
const (
	WorkflowEnvelope     = "Envelope"
	WorkflowDelivery     = "Delivery"
	WorkflowReinvite     = "Reinvite"
	WorkflowCopies       = "Copies"
	WorkflowDeletion     = "DeletionReminder"
	WorkflowTimestamp    = "Timestamp"
	WorkflowAnchor       = "Anchor"
	WorkflowCleanup      = "Cleanup"
	WorkflowReconcile    = "Reconcile"
	WorkflowBulk         = "BulkSend"
	WorkflowNotification = "Notification"
	WorkflowDigest       = "Digest"
)

// Signals and the query of the envelope workflow.
const (
	SignalSignerSigned   = "signer-signed"
	SignalSignerDeclined = "signer-declined"
	SignalVoided         = "voided"
	SignalSealingFailed  = "sealing-failed"
	SignalRescheduled    = "rescheduled" // the deadline or the reminders have changed
	QueryProgress        = "progress"
)

// Signals of the bulk send workflow. SignalChanged reports a change in the database. The other signals are sent by
// operators, and the workflow applies them to the database.
const (
	SignalChanged = "changed"
	SignalPause   = "pause"
	SignalResume  = "resume"
	SignalCancel  = "cancel"
)

// Search attributes of the workflows.
var (
	attrAppID    = sdktemporal.NewSearchAttributeKeyKeyword("AppId")
	attrTenantID = sdktemporal.NewSearchAttributeKeyKeyword("TenantId")
	// AttrEnvelopeID contains the ID of the envelope that a delivery or another workflow belongs to. An envelope's own
	// workflow lacks this attribute, because its workflow ID already contains the envelope ID.
	AttrEnvelopeID = sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeId")
	// AttrEnvelopeStatus is the status returned by StatusAttribute, or sealing_failed.
	AttrEnvelopeStatus = sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeStatus")
	// AttrStuck identifies a task that a workflow has been retrying for minutes. It is unset while all tasks succeed.
	AttrStuck = sdktemporal.NewSearchAttributeKeyKeyword("Stuck")
)

// searchAttributes lists the search attributes that the namespace must have.
var searchAttributes = []sdktemporal.SearchAttributeKeyKeyword{attrAppID, attrTenantID, AttrEnvelopeID, AttrEnvelopeStatus, AttrStuck}

// EnvelopeWorkflowID returns the ID of an envelope's workflow.
func EnvelopeWorkflowID(envelope uuid.UUID) string { return "envelope/" + envelope.String() }

// DeliveryWorkflowID returns the ID of a webhook delivery's workflow. Each resend (1, 2, …) has its own workflow.
func DeliveryWorkflowID(delivery uuid.UUID, resend int) string {
	if resend == 0 {
		return "delivery/" + delivery.String()
	}
	return "delivery/" + delivery.String() + "/" + strconv.Itoa(resend)
}

// ReinviteWorkflowID returns the ID of the workflow that sends a renewed link or a reminder requested by the given
// outbox row.
func ReinviteWorkflowID(row uuid.UUID) string { return "reinvite/" + row.String() }

// CopiesWorkflowID returns the ID of the workflow that sends sealed files again, as requested by the given outbox row.
func CopiesWorkflowID(row uuid.UUID) string { return "copies/" + row.String() }

// NotificationWorkflowID returns the ID of the workflow that notifies the sender of an envelope about an event.
func NotificationWorkflowID(event uuid.UUID) string { return "notification/" + event.String() }

// DigestWorkflowID returns the ID of the workflow that sends a console user the daily digest. Each user has at most one
// such workflow at a time.
func DigestWorkflowID(user uuid.UUID) string { return "digest/" + user.String() }

// deletionWorkflowID returns the ID of the workflow that reminds the recipients of an envelope that its files will be
// deleted in the given number of days.
func deletionWorkflowID(envelope uuid.UUID, days int) string {
	return "deletion-reminder/" + envelope.String() + "/" + strconv.Itoa(days)
}

// TimestampWorkflowID returns the ID of the workflow that adds the missing time-stamps to an envelope's files.
func TimestampWorkflowID(envelope uuid.UUID) string { return "timestamp/" + envelope.String() }

// BulkWorkflowID returns the ID of a bulk send's workflow.
func BulkWorkflowID(bulk uuid.UUID) string { return "bulk/" + bulk.String() }

// ScheduleAnchor is the ID of the schedule that anchors the audit trail, and the prefix of the IDs of its workflows.
const ScheduleAnchor = "audit-anchor"

// ScheduleCleanup is the ID of the schedule that removes data after its retention period, and the prefix of the IDs of
// its workflows.
const ScheduleCleanup = "cleanup"

// ScheduleReconcile is the ID of the schedule that starts lost workflows, and the prefix of the IDs of its workflows.
const ScheduleReconcile = "reconcile"

// EnvelopeInput identifies an envelope in the input of a workflow or activity.
type EnvelopeInput struct {
	AppID      uuid.UUID `json:"appId"`
	EnvelopeID uuid.UUID `json:"envelopeId"`
}

// EnvelopeStart is the input of an envelope's workflow.
type EnvelopeStart struct {
	EnvelopeInput

	// Plan is the state of the database at the start of the workflow. If it is nil, the workflow reads the state
	// itself, which costs another billable action.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is the part of an envelope that its workflow needs. It contains only the status, IDs and times.
type Plan struct {
	Status models.Status `json:"status"`
	// Problem is the reason why the documents cannot be sealed, or "" if none is known.
	Problem models.SealingProblem `json:"problem,omitempty"`
	Signers models.Routing        `json:"signers"`
	// Copies lists the recipients who receive only the completed copies. They are notified when their routing group is
	// reached. The workflow does not wait for them.
	Copies models.Routing `json:"copies,omitempty"`
	// Since is the time at which the current routing group opened.
	Since    time.Time  `json:"since"`
	Deadline *time.Time `json:"deadline"`
	// ReminderEvery is the tenant's reminder interval. Zero means no reminders.
	ReminderEvery time.Duration `json:"reminderEvery"`
	// RemindAt is the due time of the next reminder, or nil if none is scheduled.
	RemindAt *time.Time `json:"remindAt,omitempty"`
	// RenewAt is the due time of the first link renewal, or nil if all links remain valid until the deadline.
	RenewAt *time.Time `json:"renewAt,omitempty"`
}

// StatusAttribute returns the value of AttrEnvelopeStatus for a status. It is "open" while signers can act, and
// otherwise the status itself. A workflow receives no signal when a link is opened, so it cannot distinguish sent from
// in_progress.
func StatusAttribute(s models.Status) string {
	if s.Open() {
		return "open"
	}
	return string(s)
}

// SignerSignal is the payload of a signal about a signer.
type SignerSignal struct {
	SignerID uuid.UUID `json:"signerId,omitzero"`
	// Trace is the traceparent of the step that sent the signal, or "" without tracing.
	Trace string `json:"trace,omitempty"`
}

// DeliveryInput is the input of a delivery's workflow. Delays contains the delay before each attempt.
type DeliveryInput struct {
	DeliveryID uuid.UUID       `json:"deliveryId"`
	WebhookID  uuid.UUID       `json:"webhookId"`
	Delays     []time.Duration `json:"delays"`
	// Resend is the number of this resend, or zero for the first delivery.
	Resend int `json:"resend,omitempty"`
}

// InviteInput is the input of a workflow that sends a link to one signer of an envelope.
type InviteInput struct {
	EnvelopeInput

	SignerID uuid.UUID `json:"signerId"`
	// LinkID is the ID of the renewed link to send, or of a repeated copy notice. A link that has been replaced in the
	// meantime is not sent. If LinkID is nil, the signer's current link is sent.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Reminder identifies the request for a reminder, which is sent with the current link. It is nil for an invitation.
	Reminder *uuid.UUID `json:"reminder,omitempty"`
}

// CopiesInput is the input of the workflow that sends sealed files to a signer who requested them again.
type CopiesInput struct {
	EnvelopeInput

	SignerID uuid.UUID `json:"signerId"`
	// Request identifies the request. Each request results in one email.
	Request uuid.UUID `json:"request"`
}

// NotificationInput is the input of the workflow that notifies the sender of an envelope.
type NotificationInput struct {
	EnvelopeInput

	// EventID identifies the audit trail event that the notification reports.
	EventID uuid.UUID `json:"eventId"`
}

// DigestInput is the input of the workflow that sends a daily digest.
type DigestInput struct {
	AppID  uuid.UUID `json:"appId"`
	UserID uuid.UUID `json:"userId"`
	// Until is the end of the period that the digest covers.
	Until time.Time `json:"until"`
}

// DeletionInput is the input of the workflow that reminds recipients that the files of an envelope will be deleted in
// Days days.
type DeletionInput struct {
	EnvelopeInput

	Days int `json:"days"`
}

// Progress is the result of QueryProgress.
type Progress struct {
	// Step is the current step of the workflow: waiting, expiring, sealing, sealing_failed, sending_copies, closing or
	// done.
	Step string `json:"step"`
	// OpenGroup is the routing order of the awaited signers, or zero if no signer is awaited.
	OpenGroup int `json:"openGroup"`
	// Awaiting lists the signers whose action is awaited.
	Awaiting []uuid.UUID `json:"awaiting"`
	// Deadline is the time at which the envelope expires, or null if there is no deadline.
	Deadline *time.Time `json:"deadline"`
	// NextReminder is the due time of the next reminder, or null if none is scheduled.
	NextReminder *time.Time `json:"nextReminder"`
}

// BulkInput is the input of a bulk send's workflow.
type BulkInput struct {
	AppID      uuid.UUID `json:"appId"`
	BulkSendID uuid.UUID `json:"bulkSendId"`
}

// BulkProgress is the result of QueryProgress for a bulk send's workflow.
type BulkProgress struct {
	// Status is empty until the first batch has been sent.
	Status models.BulkStatus `json:"status"`
	Counts models.BulkCounts `json:"counts"`
}
