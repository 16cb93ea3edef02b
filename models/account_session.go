package models

import (
	"time"

	"github.com/google/uuid"
)

// ConsoleSession is the session of a console user on one device.
type ConsoleSession struct {
	ID        uuid.UUID `gorm:"primaryKey"` // of its token
	UserID    uuid.UUID
	Device    []byte // sealed
	CreatedAt time.Time
	SeenAt    time.Time // time of the last request, to the minute
	ExpiresAt time.Time
	ProvedAt  *time.Time // when the person last signed in at the provider; nil: unknown, or a password was used
}

// ConsoleChallenge is the challenge of a sign-in. It accepts one response.
type ConsoleChallenge struct {
	ID        string `gorm:"primaryKey"` // SHA-256, in hexadecimal digits, of the secret that the response returns
	Kind      ChallengeKind
	Holder    []byte     // SHA-256 of a secret that only the challenged browser or session has
	UserID    *uuid.UUID // nil: not known yet
	Data      []byte     // sealed
	ExpiresAt time.Time
}

// ChallengeKind is the purpose of a challenge.
type ChallengeKind string

// The kinds.
const (
	ChallengeProviderSignIn ChallengeKind = "provider-sign-in"
	ChallengeProviderLink   ChallengeKind = "provider-link" // of an account that has a password
	ChallengePasskey        ChallengeKind = "passkey"       // registers a new passkey
	ChallengePasskeySignIn  ChallengeKind = "passkey-sign-in"
	ChallengePasskeyProof   ChallengeKind = "passkey-proof" // before a change, in a session
)

// ConsoleFactor is the second factor of a console user: one-time passwords (RFC 6238).
type ConsoleFactor struct {
	UserID      uuid.UUID `gorm:"column:id;primaryKey"`
	Secret      []byte    // sealed
	CreatedAt   time.Time
	ConfirmedAt *time.Time // nil: a first code is awaited
	LastStep    int64      // of the last code taken
}

// ConsolePasskey is a passkey of a console user (WebAuthn), a second factor.
type ConsolePasskey struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	UserID       uuid.UUID
	CredentialID []byte // the authenticator's name for it
	Credential   []byte // public key and counter, JSON
	Name         string // the owner's name for it
	CreatedAt    time.Time
	UsedAt       *time.Time
}

// ConsoleRecoveryCode replaces a lost second factor. It works once.
type ConsoleRecoveryCode struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Hash   []byte    `gorm:"primaryKey"` // SHA-256
}

// SecondFactor is the rule for which console users must have a second factor.
type SecondFactor string

// The choices.
const (
	SecondFactorOptional SecondFactor = "optional" // for users who enable it
	SecondFactorAdmins   SecondFactor = "admins"
	SecondFactorRequired SecondFactor = "required" // everybody
)

// Valid reports whether f is one of the choices.
func (f SecondFactor) Valid() bool {
	return f == SecondFactorOptional || f == SecondFactorAdmins || f == SecondFactorRequired
}

// Requires reports whether users of role r must have a second factor.
func (f SecondFactor) Requires(r Role) bool {
	return f == SecondFactorRequired || f == SecondFactorAdmins && r == RoleAdmin
}

// PageSession is the common part of embedded and builder sessions. It permits work inside a page of one origin.
type PageSession struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	AppID         uuid.UUID
	TenantID      string // "": of a template for all tenants
	TokenHash     []byte // SHA-256
	AllowedOrigin string
	ReturnURL     *string `gorm:"column:return_url"`
	PrimaryColor  *string // "#rrggbb"
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
		return Refuse(KindUnauthorized, "session_expired", "This embedded session has expired.")
	}
	return nil
}

// ErrSessionInvalid is returned for a token that belongs to no session, or to a revoked one.
var ErrSessionInvalid = Refuse(KindUnauthorized, "session_invalid", "This embedded session is not valid.")

// ErrSignerChanged is returned if a signer was replaced during the creation of an embedded session.
var ErrSignerChanged = Refuse(KindConflict, "signer_changed", "The signer has changed. Reload the envelope and try again.")

// CheckEmbed returns the signer, or an error if the signer cannot currently sign in an embedded page.
func (e *Envelope) CheckEmbed(signer uuid.UUID, at time.Time) (*Signer, error) {
	s := e.Signer(signer)
	switch {
	case s == nil:
		return nil, ErrNotFound
	case e.Status == StatusDraft:
		return nil, Refuse(KindConflict, "envelope_draft", "The envelope has not been sent.")
	case !e.Status.Open() || e.DeadlinePassed(at):
		return nil, Refuse(KindConflict, "envelope_closed", "The envelope is %s; it can no longer be signed.", e.Status.Public())
	case !s.Awaited():
		return nil, Refuse(KindConflict, "signer_not_awaited", "The signer is %s and cannot sign now.", string(s.Status))
	}
	return s, nil
}
