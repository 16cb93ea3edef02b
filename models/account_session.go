package models

import (
	"time"

	"github.com/google/uuid"
)

// ConsoleSession is the session of a console user on one device.
type ConsoleSession struct {
	ID        uuid.UUID `gorm:"primaryKey"` // the ID in the session's token
	UserID    uuid.UUID
	Device    []byte // encrypted
	CreatedAt time.Time
	SeenAt    time.Time // time of the last request, accurate to the minute
	ExpiresAt time.Time
	ProvedAt  *time.Time // time of the last sign-in through the provider; nil if unknown or if a password was used
}

// ConsoleChallenge is a challenge issued during sign-in. It accepts one response.
type ConsoleChallenge struct {
	ID        string `gorm:"primaryKey"` // SHA-256, in hexadecimal, of the secret that the response must contain
	Kind      ChallengeKind
	Holder    []byte     // SHA-256 of a secret known only to the challenged browser or session
	UserID    *uuid.UUID // nil if not yet known
	Data      []byte     // encrypted
	ExpiresAt time.Time
}

// ChallengeKind is the purpose of a challenge.
type ChallengeKind string

// The kinds of challenges.
const (
	ChallengeProviderSignIn ChallengeKind = "provider-sign-in"
	ChallengeProviderLink   ChallengeKind = "provider-link" // links an account that has a password
	ChallengePasskey        ChallengeKind = "passkey"       // registers a new passkey
	ChallengePasskeySignIn  ChallengeKind = "passkey-sign-in"
	ChallengePasskeyProof   ChallengeKind = "passkey-proof" // required before a change within a session
)

// ConsoleFactor is the authenticator app (RFC 6238) of a console user, used as a second factor.
type ConsoleFactor struct {
	UserID      uuid.UUID `gorm:"column:id;primaryKey"`
	Secret      []byte    // encrypted
	CreatedAt   time.Time
	ConfirmedAt *time.Time // nil until the first code has been verified
	LastStep    int64      // time step of the last accepted code
}

// ConsolePasskey is a passkey (WebAuthn) of a console user, used as a second factor.
type ConsolePasskey struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	UserID       uuid.UUID
	CredentialID []byte // assigned by the authenticator
	Credential   []byte // public key and counter as JSON
	Name         string // chosen by the user
	CreatedAt    time.Time
	UsedAt       *time.Time
}

// ConsoleRecoveryCode is a code that can be used once in place of a lost second factor.
type ConsoleRecoveryCode struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Hash   []byte    `gorm:"primaryKey"` // SHA-256
}

// SecondFactor specifies which console users must have a second factor.
type SecondFactor string

// The second factor policies.
const (
	SecondFactorOptional SecondFactor = "optional" // only for users who enable it
	SecondFactorAdmins   SecondFactor = "admins"
	SecondFactorRequired SecondFactor = "required" // for all users
)

// Valid reports whether f is a known policy.
func (f SecondFactor) Valid() bool {
	return f == SecondFactorOptional || f == SecondFactorAdmins || f == SecondFactorRequired
}

// Requires reports whether users of role r must have a second factor.
func (f SecondFactor) Requires(r Role) bool {
	return f == SecondFactorRequired || f == SecondFactorAdmins && r == RoleAdmin
}

// PageSession contains the common fields of embedded and builder sessions. A page session permits certain operations
// from pages of one origin.
type PageSession struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	AppID         uuid.UUID
	TenantID      string // empty for a template that all tenants can use
	TokenHash     []byte // SHA-256
	AllowedOrigin string
	ReturnURL     *string `gorm:"column:return_url"`
	PrimaryColor  *string // #rrggbb
	BorderRadius  *string // CSS length
	CreatedAt     time.Time
	ExpiresAt     time.Time
	RevokedAt     *time.Time
}

// EmbeddedSession permits one signer to sign in an embedded page.
type EmbeddedSession struct {
	PageSession

	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
}

// Live returns an error if the session has expired or was revoked.
func (s *PageSession) Live(at time.Time) error {
	switch {
	case s.RevokedAt != nil:
		return ErrSessionInvalid
	case !at.Before(s.ExpiresAt):
		return Reject(KindUnauthorized, "session_expired", "This embedded session has expired.")
	}
	return nil
}

// ErrSessionInvalid is returned for a token whose session is unknown or revoked.
var ErrSessionInvalid = Reject(KindUnauthorized, "session_invalid", "This embedded session is not valid.")

// errSignerChanged is returned if a signer was replaced while an embedded session was being created.
var errSignerChanged = Reject(KindConflict, "signer_changed", "The signer has changed. Reload the envelope and try again.")

// CheckEmbed returns the signer, or an error if the signer cannot currently sign in an embedded page.
func (e *Envelope) CheckEmbed(signer uuid.UUID, at time.Time) (*Signer, error) {
	s := e.Signer(signer)
	switch {
	case s == nil:
		return nil, ErrNotFound
	case e.Status == StatusDraft:
		return nil, Reject(KindConflict, "envelope_draft", "The envelope has not been sent.")
	case !e.Status.Open() || e.DeadlinePassed(at):
		return nil, Reject(KindConflict, "envelope_closed", "The envelope is %s and can no longer be signed.", e.Status.Public())
	case !s.Awaited():
		return nil, Reject(KindConflict, "signer_not_awaited", "The signer is %s and cannot sign now.", string(s.Status))
	}
	return s, nil
}
