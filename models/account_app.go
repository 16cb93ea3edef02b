package models

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Plan is the subscription plan of an app.
type Plan string

// The plans.
const (
	PlanFree       Plan = "free"
	PlanPro        Plan = "pro"
	PlanEnterprise Plan = "enterprise"
)

// App is an API client. Its id appears in audit trails and sealed documents; its client id does not.
type App struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	ClientID  uuid.UUID // its client_id
	Name      string
	Plan      Plan
	Tenants   []string `gorm:"serializer:json"` // empty: all
	Contact   string   // email address of its operators (optional)
	CreatedAt time.Time
}

// CheckTenant returns an error unless the app is authorized for the tenant.
func (a *App) CheckTenant(tenant string) error {
	if allowsTenant(a.Tenants, tenant) {
		return nil
	}
	return Refuse(KindForbidden, "tenant_forbidden", "This client is not authorized for this tenant.")
}

// allowsTenant reports whether tenants, the list of an app, includes tenant. An empty list allows every tenant.
func allowsTenant(tenants []string, tenant string) bool {
	return len(tenants) == 0 || slices.Contains(tenants, tenant)
}

// ClientSecret is a secret of an app. It is hashed for authentication, and encrypted because it signs webhooks without
// a separate secret.
type ClientSecret struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Hash      []byte // bcrypt
	Cipher    []byte // vault
	CreatedAt time.Time
	ExpiresAt *time.Time // nil: until it is removed
}

// MailKind is the purpose of an email.
type MailKind string

// The kinds of email that the envelope workflow sends.
const (
	MailInvitation MailKind = "invitation"
	MailReminder   MailKind = "reminder"
	MailCopyNotice MailKind = "copy_notice" // to who will get a copy
	MailCompleted  MailKind = "completed"
	MailClosed     MailKind = "closed"
	MailDeletion   MailKind = "deletion"
	MailHook       MailKind = "webhook_disabled"
	MailNotice     MailKind = "notice" // to the tenant's contact, about a problem
	// MailNotification notifies the console user who sent the envelope, and MailDigest of a day.
	MailNotification MailKind = "notification"
	MailDigest       MailKind = "digest"
)

// Mail is the record of an email of an envelope, which prevents sending it twice. ID is the local part of its
// Message-ID.
type Mail struct {
	ID         string `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Kind       MailKind
	RequestID  *uuid.UUID // the outbox row that requested copies again, a reminder or a notification
	Attempts   int
	CreatedAt  time.Time
	RefusedAt  *time.Time // when the server first rejected it temporarily
	SentAt     *time.Time
	FailedAt   *time.Time
	Error      string // safe words, no address
}

// SigningKey is a key of the service for tokens or manifests.
type SigningKey struct {
	ID        string     `gorm:"primaryKey"` // the JWK key id
	Purpose   KeyPurpose // use of the key
	Private   []byte     // vault, PKCS #8
	Public    []byte     // PKIX
	CreatedAt time.Time
	RetiredAt *time.Time // the key verifies but no longer signs
}

// SealCertificate is a current or former sealing certificate of this service.
type SealCertificate struct {
	ID        string `gorm:"primaryKey"` // SHA-256 of DER
	DER       []byte `gorm:"column:der"`
	CreatedAt time.Time
}

// KeyRevocation records the time from which a manifest key or sealing certificate is no longer trusted.
type KeyRevocation struct {
	Seq        int64  `gorm:"->;primaryKey;autoIncrement:false"` // the database counts
	KeyID      string // of a SigningKey or SealCertificate
	At         time.Time
	Reason     string
	RecordedAt time.Time
}

// KeyPurpose is the use of a signing key.
type KeyPurpose string

// The purposes.
const (
	KeyTokens    KeyPurpose = "tokens"
	KeyManifests KeyPurpose = "manifests"
)
