package models

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Plan is what an app has paid for.
type Plan string

// The plans.
const (
	PlanFree       Plan = "free"
	PlanPro        Plan = "pro"
	PlanEnterprise Plan = "enterprise"
)

// App is an API client. Its id stands in audit trails and sealed documents;
// what it logs in with does not.
type App struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	ClientID  uuid.UUID // its client_id
	Name      string
	Plan      Plan
	Tenants   []string `gorm:"serializer:json"` // empty: all
	Contact   string   // e-mail address of the people who run it; may be empty
	CreatedAt time.Time
}

// MayUse refuses a tenant that the app is not allowed to act for.
func (a *App) MayUse(tenant string) error {
	if len(a.Tenants) == 0 || slices.Contains(a.Tenants, tenant) {
		return nil
	}
	return Refuse(KindForbidden, "tenant_forbidden", "This client may not act for that tenant.")
}

// ClientSecret is one of an app's secrets: hashed to log in with, and encrypted
// because webhooks without a secret of their own are signed with it.
type ClientSecret struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Hash      []byte // bcrypt
	Cipher    []byte // vault
	CreatedAt time.Time
	ExpiresAt *time.Time // nil: until it is removed
}

// Webhook is an endpoint that wants to be told.
type Webhook struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	URL       string      `gorm:"column:url"`
	Events    []EventName `gorm:"serializer:json"`
	Secret    []byte      // vault; nil: the client secret signs
	Active    bool
	CreatedAt time.Time

	PreviousSecret []byte     // vault; signs beside Secret until PreviousUntil
	PreviousUntil  *time.Time // nil: there is none
	FailingSince   *time.Time // the first failure of an unbroken run; nil: the last attempt went well
	LastError      string     // why the last attempt failed, in safe words
	DisabledAt     *time.Time // when the service switched it off
	DisabledReason string     // "gone" or "failing"; "" while it is active or paused by its owner
}

// Reasons why the service switches an endpoint off.
const (
	DisabledGone    = "gone"    // it answered 410
	DisabledFailing = "failing" // nothing reached it for days
)

// Wants reports whether the endpoint subscribes to the event.
func (w *Webhook) Wants(n EventName) bool { return w.Active && slices.Contains(w.Events, n) }

// WebhookEvent is one event as told to the app's endpoints.
type WebhookEvent struct {
	ID         uuid.UUID `gorm:"primaryKey"` // of the audit event; consumers deduplicate by it
	AppID      uuid.UUID
	EnvelopeID uuid.UUID
	Name       EventName
	Body       []byte
	CreatedAt  time.Time
}

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

// The states of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is one event on its way to one endpoint.
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
	CreatedAt   time.Time
	DeliveredAt *time.Time
	FailedAt    *time.Time
}

// TableName is the table of deliveries.
func (Delivery) TableName() string { return "webhook_deliveries" }

// DeliveryAttempt is one try at a delivery.
type DeliveryAttempt struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	DeliveryID uuid.UUID
	Number     int // from 1, over all runs of the delivery
	At         time.Time
	Status     int    // HTTP status; 0 if there was no answer
	LatencyMS  int64  `gorm:"column:latency_ms"`
	Error      string // why there was no answer, in safe words
	Body       []byte // the first 4 KiB of the answer
}

// OutboxKind says what is to be started or signalled in Temporal.
type OutboxKind string

// The kinds of outbox rows. Those with an envelope's id reach its workflow.
const (
	OutboxStart     OutboxKind = "start"           // start the envelope's workflow
	OutboxSigned    OutboxKind = "signer-signed"   // signal
	OutboxDeclined  OutboxKind = "signer-declined" // signal
	OutboxVoided    OutboxKind = "voided"          // signal
	OutboxUnsealed  OutboxKind = "sealing-failed"  // signal
	OutboxDeliver   OutboxKind = "deliver"         // start a delivery's workflow
	OutboxReinvite  OutboxKind = "invite"          // start the sending of a renewed link
	OutboxRetention OutboxKind = "retain"          // start the retention of sealed files
	OutboxTimestamp OutboxKind = "timestamp"       // start the adding of time-stamps that are awaited
)

// OutboxRow is a fact that was not delivered to Temporal yet. Rows of one Key are
// delivered in order.
type OutboxRow struct {
	Seq int64     `gorm:"->;primaryKey;autoIncrement:false"` // the database counts
	ID  uuid.UUID // the request id that lets Temporal drop repeats
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

// OutboxRefs are the ids that a row carries along.
type OutboxRefs struct {
	AppID     uuid.UUID  `json:"appId"`
	TenantID  string     `json:"tenantId,omitempty"`
	SignerID  *uuid.UUID `json:"signerId,omitempty"`
	WebhookID *uuid.UUID `json:"webhookId,omitempty"`
	// Resend is the number of a delivery's resend; 0 for the first delivery.
	Resend int `json:"resend,omitempty"`
	// Restart says that the workflow is to run again although it has ended well before.
	Restart bool `json:"restart,omitempty"`
	// Trace is the W3C traceparent of the step that wrote the row; "" where nobody traces.
	Trace string `json:"trace,omitempty"`
}

// FairnessKey names whose work the row is: the endpoint of a delivery, and the app
// of everything else. Claims from the outbox and Temporal's task queues are shared
// equally between the keys, so that none waits for another's backlog.
func (r OutboxRefs) FairnessKey() uuid.UUID {
	if r.WebhookID != nil {
		return *r.WebhookID
	}
	return r.AppID
}

// MailKind says what a mail is for.
type MailKind string

// The kinds of mail that the envelope workflow sends.
const (
	MailInvitation MailKind = "invitation"
	MailReminder   MailKind = "reminder"
	MailCompleted  MailKind = "completed"
	MailClosed     MailKind = "closed"
	MailDeletion   MailKind = "deletion"
	MailHook       MailKind = "webhook_disabled"
	MailNotice     MailKind = "notice" // to the sender, of what went wrong
)

// Mail remembers that a mail is to go out, so that it goes out once. ID is the
// left part of its Message-ID.
type Mail struct {
	ID         string `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Kind       MailKind
	Attempts   int
	CreatedAt  time.Time
	SentAt     *time.Time
	FailedAt   *time.Time
	Error      string // safe words, no address
}

// SigningKey is a key of the service for tokens or manifests.
type SigningKey struct {
	ID        string     `gorm:"primaryKey"` // the JWK key id
	Purpose   KeyPurpose // what it signs
	Private   []byte     // vault, PKCS #8
	Public    []byte     // PKIX
	CreatedAt time.Time
	RetiredAt *time.Time // still verifies, signs no more
}

// SealCertificate is a certificate that seals here, or once did.
type SealCertificate struct {
	ID        string `gorm:"primaryKey"` // SHA-256 of DER
	DER       []byte `gorm:"column:der"`
	CreatedAt time.Time
}

// KeyRevocation says from when on a key that signs records, or a sealing
// certificate, is not to be believed any more.
type KeyRevocation struct {
	Seq        int64  `gorm:"->;primaryKey;autoIncrement:false"` // the database counts
	KeyID      string // of a SigningKey or SealCertificate
	At         time.Time
	Reason     string
	RecordedAt time.Time
}

// KeyPurpose says what a key signs.
type KeyPurpose string

// The purposes.
const (
	KeyTokens    KeyPurpose = "tokens"
	KeyManifests KeyPurpose = "manifests"
)
