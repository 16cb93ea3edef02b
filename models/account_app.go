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

// CheckTenant refuses a tenant that the app is not allowed to act for.
func (a *App) CheckTenant(tenant string) error {
	if allowsTenant(a.Tenants, tenant) {
		return nil
	}
	return Refuse(KindForbidden, "tenant_forbidden", "This client is not authorized for this tenant.")
}

// allowsTenant reports whether an app of some tenants (none: of all) may act for one.
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

// MailKind says what a mail is for.
type MailKind string

// The kinds of mail that the envelope workflow sends.
const (
	MailInvitation MailKind = "invitation"
	MailReminder   MailKind = "reminder"
	MailCopyNotice MailKind = "copy_notice" // to who will get a copy
	MailCompleted  MailKind = "completed"
	MailClosed     MailKind = "closed"
	MailDeletion   MailKind = "deletion"
	MailHook       MailKind = "webhook_disabled"
	MailNotice     MailKind = "notice" // to the tenant's contact, of what went wrong
	// MailNotification notifies the console user who sent the envelope, and MailDigest of a day.
	MailNotification MailKind = "notification"
	MailDigest       MailKind = "digest"
)

// Mail remembers that a mail is to go out, so that it goes out once. ID is the
// left part of its Message-ID.
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
