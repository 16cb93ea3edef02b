// Package temporal is how the rest of Countersign speaks to Temporal: the names
// of queues, workflows and signals, the client, and the dispatcher that delivers
// the rows of the outbox.
package temporal

import (
	"strconv"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
)

// Task queues. Each of these has its own: sealing, because the processor limits it; webhooks, because a slow endpoint
// must not delay other work; bulk sends, because few of their batches can run at a time; and mail, because a hanging
// mail server must not delay other work.
const (
	QueueMain     = "countersign"
	QueueSeal     = "countersign-seal"
	QueueWebhooks = "countersign-webhooks"
	QueueBulk     = "countersign-bulk"
	QueueMail     = "countersign-mail"
)

// Queues are all task queues.
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

// Signals and queries of the envelope workflow.
const (
	SignalSignerSigned   = "signer-signed"
	SignalSignerDeclined = "signer-declined"
	SignalVoided         = "voided"
	SignalSealingFailed  = "sealing-failed"
	SignalRescheduled    = "rescheduled" // deadline or reminders are others now
	QueryProgress        = "progress"
)

// Signals of a bulk send's workflow. The first reports a change of the database. Operators send the others, which make
// the workflow change the database.
const (
	SignalChanged = "changed"
	SignalPause   = "pause"
	SignalResume  = "resume"
	SignalCancel  = "cancel"
)

// The search attributes of the workflows.
var (
	AttrAppID    = sdktemporal.NewSearchAttributeKeyKeyword("AppId")
	AttrTenantID = sdktemporal.NewSearchAttributeKeyKeyword("TenantId")
	// AttrEnvelopeID is the envelope of a delivery, a renewed link or copies that are sent again; the id of an envelope's own
	// workflow holds it.
	AttrEnvelopeID = sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeId")
	// AttrEnvelopeStatus is the result of ShownStatus, or sealing_failed.
	AttrEnvelopeStatus = sdktemporal.NewSearchAttributeKeyKeyword("EnvelopeStatus")
	// AttrStuck names the task that a workflow has retried for minutes; it is not set if all tasks succeed.
	AttrStuck = sdktemporal.NewSearchAttributeKeyKeyword("Stuck")
)

// SearchAttributes are the attributes that the namespace must have.
var SearchAttributes = []sdktemporal.SearchAttributeKeyKeyword{AttrAppID, AttrTenantID, AttrEnvelopeID, AttrEnvelopeStatus, AttrStuck}

// EnvelopeWorkflowID is the id of an envelope's workflow.
func EnvelopeWorkflowID(envelope uuid.UUID) string { return "envelope/" + envelope.String() }

// DeliveryWorkflowID returns the id of a webhook delivery's workflow. Each resend (1, 2, …) has its own workflow.
func DeliveryWorkflowID(delivery uuid.UUID, resend int) string {
	if resend == 0 {
		return "delivery/" + delivery.String()
	}
	return "delivery/" + delivery.String() + "/" + strconv.Itoa(resend)
}

// ReinviteWorkflowID is the id of the workflow that sends a renewed link. row is the outbox row with the request.
func ReinviteWorkflowID(row uuid.UUID) string { return "reinvite/" + row.String() }

// CopiesWorkflowID is the id of the workflow that sends sealed files again. row is the outbox row with the request.
func CopiesWorkflowID(row uuid.UUID) string { return "copies/" + row.String() }

// NotificationWorkflowID is the id of the workflow that notifies the sender of an envelope of an event.
func NotificationWorkflowID(event uuid.UUID) string { return "notification/" + event.String() }

// DigestWorkflowID is the id of the workflow that sends a console user the daily digest. One per user runs at a time.
func DigestWorkflowID(user uuid.UUID) string { return "digest/" + user.String() }

// DeletionWorkflowID is the id of the workflow that reminds the recipients of an envelope of the deletion in a number
// of days.
func DeletionWorkflowID(envelope uuid.UUID, days int) string {
	return "deletion-reminder/" + envelope.String() + "/" + strconv.Itoa(days)
}

// TimestampWorkflowID is the id of the workflow that adds the time-stamps that
// an envelope's files await.
func TimestampWorkflowID(envelope uuid.UUID) string { return "timestamp/" + envelope.String() }

// BulkWorkflowID is the id of a bulk send's workflow.
func BulkWorkflowID(bulk uuid.UUID) string { return "bulk/" + bulk.String() }

// ScheduleAnchor is the id of the schedule that has the audit trail anchored, and
// begins the ids of its workflows.
const ScheduleAnchor = "audit-anchor"

// ScheduleCleanup is the id of the schedule that removes data after its retention period, and the prefix of the ids of
// its workflows.
const ScheduleCleanup = "cleanup"

// ScheduleReconcile is the id of the schedule that starts lost workflows, and the prefix of the ids of its runs.
const ScheduleReconcile = "reconcile"

// EnvelopeInput starts an envelope's workflow.
type EnvelopeInput struct {
	AppID      uuid.UUID `json:"appId"`
	EnvelopeID uuid.UUID `json:"envelopeId"`
}

// EnvelopeStart starts an envelope's workflow.
type EnvelopeStart struct {
	EnvelopeInput

	// Plan is the state of the database at the start of the workflow; nil: the workflow reads it, which costs one more
	// action.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is the part of an envelope that its workflow needs: ids and times only.
type Plan struct {
	Status models.Status `json:"status"`
	// Problem is why the documents cannot be sealed; "" if no reason is known.
	Problem models.SealingProblem `json:"problem,omitempty"`
	Signers models.Routing        `json:"signers"`
	// Copies are the recipients who receive only the completed copies. They are notified when their routing group is
	// reached; the workflow does not wait for them.
	Copies models.Routing `json:"copies,omitempty"`
	// Since is the time at which the current routing group opened.
	Since    time.Time  `json:"since"`
	Deadline *time.Time `json:"deadline"`
	// ReminderEvery is the tenant's interval; 0: no reminders.
	ReminderEvery time.Duration `json:"reminderEvery"`
	// RemindAt is the due time of the next reminder; nil: no reminder is due.
	RemindAt *time.Time `json:"remindAt,omitempty"`
	// RenewAt is the due time of the first renewal of a link; nil if the deadline ends all links.
	RenewAt *time.Time `json:"renewAt,omitempty"`
}

// ShownStatus returns the value of AttrEnvelopeStatus for a status: the status, or "open" while signers may act. A
// workflow gets no signal when a link is opened, so it cannot distinguish sent from in_progress.
func ShownStatus(s models.Status) string {
	if s.Open() {
		return "open"
	}
	return string(s)
}

// SignerSignal is the content of signals: the id of the signer whom the fact concerns.
type SignerSignal struct {
	SignerID uuid.UUID `json:"signerId,omitzero"`
	// Trace is the traceparent of the step that made the fact; "" without tracing.
	Trace string `json:"trace,omitempty"`
}

// DeliveryInput starts a delivery's workflow. Delays are the delays before each attempt.
type DeliveryInput struct {
	DeliveryID uuid.UUID       `json:"deliveryId"`
	WebhookID  uuid.UUID       `json:"webhookId"`
	Delays     []time.Duration `json:"delays"`
	// Resend is the number of the resend that this is, 0 for the first delivery.
	Resend int `json:"resend,omitempty"`
}

// InviteInput names one signer of an envelope who receives a link. With a LinkID it starts the sending of a renewed
// one.
type InviteInput struct {
	EnvelopeInput

	SignerID uuid.UUID `json:"signerId"`
	// LinkID is the link to send, unless another has replaced it, or identifies a repeated notice of a copy; nil: the
	// invitation of a routing group, with the signer's current link.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Reminder is the request for a reminder, which is sent with the current link instead of an invitation; nil: none.
	Reminder *uuid.UUID `json:"reminder,omitempty"`
}

// CopiesInput starts the sending of sealed files to a signer who requested them again.
type CopiesInput struct {
	EnvelopeInput

	SignerID uuid.UUID `json:"signerId"`
	// Request distinguishes requests; each results in one email.
	Request uuid.UUID `json:"request"`
}

// NotificationInput starts the notification of the sender of an envelope.
type NotificationInput struct {
	EnvelopeInput

	// EventID is the event of the audit trail that the sender is notified of.
	EventID uuid.UUID `json:"eventId"`
}

// DigestInput starts the sending of a daily digest.
type DigestInput struct {
	AppID  uuid.UUID `json:"appId"`
	UserID uuid.UUID `json:"userId"`
	// Until is the end of the time that the digest covers.
	Until time.Time `json:"until"`
}

// DeletionInput starts the reminder that the files of an envelope will be deleted in a number of days.
type DeletionInput struct {
	EnvelopeInput

	Days int `json:"days"`
}

// Progress is the result of QueryProgress.
type Progress struct {
	// Step is the current step of the workflow: waiting, expiring, sealing, sealing_failed, sending_copies, closing or
	// done.
	Step string `json:"step"`
	// OpenGroup is the routing order of the awaited signers; 0 for none.
	OpenGroup int `json:"openGroup"`
	// Awaiting are the signers who are to act now.
	Awaiting []uuid.UUID `json:"awaiting"`
	// Deadline is the time at which the envelope expires; null: no deadline.
	Deadline *time.Time `json:"deadline"`
	// NextReminder is the due time of the next reminder; null: none.
	NextReminder *time.Time `json:"nextReminder"`
}

// BulkInput starts a bulk send's workflow.
type BulkInput struct {
	AppID      uuid.UUID `json:"appId"`
	BulkSendID uuid.UUID `json:"bulkSendId"`
}

// BulkProgress is the result of QueryProgress of a bulk send's workflow.
type BulkProgress struct {
	// Status is empty until the first batch.
	Status models.BulkStatus `json:"status"`
	Counts models.BulkCounts `json:"counts"`
}
