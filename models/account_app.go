package models

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Plan is the subscription plan of an app.
type Plan string

// The subscription plans.
const (
	PlanFree       Plan = "free"
	PlanPro        Plan = "pro"
	PlanEnterprise Plan = "enterprise"
)

// App is an API client. Its ID appears in audit trails and sealed documents, but its client ID does not.
type App struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	ClientID  uuid.UUID // the OAuth client_id
	Name      string
	Plan      Plan
	Tenants   []string `gorm:"serializer:json"` // empty for all tenants
	Contact   string   // optional email address of the app's operators
	CreatedAt time.Time
}

// CheckTenant returns an error unless the app may access the tenant.
func (a *App) CheckTenant(tenant string) error {
	if allowsTenant(a.Tenants, tenant) {
		return nil
	}
	return Reject(KindForbidden, "tenant_forbidden", "This client is not authorized for this tenant.")
}

// allowsTenant reports whether an app with the given list of tenants may access a tenant. An empty list permits all
// tenants.
func allowsTenant(tenants []string, tenant string) bool {
	return len(tenants) == 0 || slices.Contains(tenants, tenant)
}

// ClientSecret is a secret of an app. The hash of the secret authenticates the app. The encrypted secret is used to
// sign webhooks that have no secret of their own.
type ClientSecret struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Hash      []byte // bcrypt hash
	Cipher    []byte // encrypted by the vault
	CreatedAt time.Time
	ExpiresAt *time.Time // nil if the secret is valid until it is removed
}

// MailKind is the purpose of an email.
type MailKind string

// Kinds of email that the service sends.
const (
	MailInvitation MailKind = "invitation"
	MailReminder   MailKind = "reminder"
	MailCopyNotice MailKind = "copy_notice" // announces that the recipient will receive a copy
	MailCompleted  MailKind = "completed"
	MailClosed     MailKind = "closed"
	MailDeletion   MailKind = "deletion"
	MailHook       MailKind = "webhook_disabled"
	MailNotice     MailKind = "notice" // informs the tenant's contact about a problem
	// MailNotification notifies the console user who sent the envelope about a single event. MailDigest summarizes the
	// events of a day.
	MailNotification MailKind = "notification"
	MailDigest       MailKind = "digest"
)

// Mail is the record of an email about an envelope. It prevents the email from being sent twice. ID is the local part
// of the email's Message-ID.
type Mail struct {
	ID              string `gorm:"primaryKey"`
	EnvelopeID      uuid.UUID
	SignerID        uuid.UUID
	Kind            MailKind
	RequestID       *uuid.UUID // the outbox row that requested copies, a reminder or a notification
	Attempts        int
	CreatedAt       time.Time
	FirstRejectedAt *time.Time `gorm:"column:refused_at"` // time of the first temporary rejection by the mail server
	SentAt          *time.Time
	FailedAt        *time.Time
	Error           string // safe to display; contains no address
}

// RequestedMailID returns the ID of the Mail record for the email that an outbox row requests. The record is written
// together with the row, so that the email is sent even if Temporal loses the workflow.
func RequestedMailID(request uuid.UUID) string { return "requested-" + request.String() }

// SigningKey is a key that the service uses to sign tokens or manifests.
type SigningKey struct {
	ID        string `gorm:"primaryKey"` // JWK key ID
	Purpose   KeyPurpose
	Private   []byte // PKCS #8, encrypted by the vault
	Public    []byte // PKIX
	CreatedAt time.Time
	RetiredAt *time.Time // time at which the key was retired; it is then used only for verification
}

// SealCertificate is a current or former sealing certificate of this service.
type SealCertificate struct {
	ID        string `gorm:"primaryKey"` // SHA-256 of DER
	DER       []byte `gorm:"column:der"`
	CreatedAt time.Time
}

// KeyRevocation records the time from which a manifest key or sealing certificate is no longer trusted.
type KeyRevocation struct {
	Seq        int64  `gorm:"->;primaryKey;autoIncrement:false"` // assigned by the database
	KeyID      string // ID of a SigningKey or SealCertificate
	At         time.Time
	Reason     string
	RecordedAt time.Time
}

// KeyPurpose is the use of a signing key.
type KeyPurpose string

// The purposes of signing keys.
const (
	KeyTokens    KeyPurpose = "tokens"
	KeyManifests KeyPurpose = "manifests"
)
