package models

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Role is what a console user may do. Each role may do what those before it may.
type Role string

// The roles, from the least to the most.
const (
	RoleViewer  Role = "viewer"  // looks
	RoleSupport Role = "support" // also resends, and voids envelopes
	RoleAdmin   Role = "admin"   // also changes settings, webhooks and users
)

// Roles lists the roles in order.
var Roles = []Role{RoleViewer, RoleSupport, RoleAdmin}

// Known reports whether r is one of Roles.
func (r Role) Known() bool { return slices.Contains(Roles, r) }

// Allows reports whether r may do what needs the role least.
func (r Role) Allows(least Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, least) && r.Known()
}

// ConsoleUser is a person who signs in to the console of an app.
type ConsoleUser struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	AppID        uuid.UUID
	Email        string
	EmailKey     string // keyed hash of Email, which is unique in the service
	Name         string
	PasswordHash []byte // bcrypt
	Role         Role
	CreatedAt    time.Time
	DisabledAt   *time.Time
}

// UserActor names a console user as an event's actor.
func UserActor(id uuid.UUID) string { return "user:" + id.String() }

// EmailKey is the form in which e-mail addresses are compared.
func EmailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Contact is somebody whom an app often asks to sign.
type Contact struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Name      string
	Email     string
	EmailKey  string // keyed hash of Email, which is unique in the app
	Phone     *string
	CreatedAt time.Time
}

// EmbeddedSession lets one signer sign inside a page of one origin.
type EmbeddedSession struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	AppID         uuid.UUID
	TenantID      string
	EnvelopeID    uuid.UUID
	SignerID      uuid.UUID
	TokenHash     []byte // SHA-256
	AllowedOrigin string
	ReturnURL     *string `gorm:"column:return_url"`
	PrimaryColor  *string // "#rrggbb"
	BorderRadius  *string // CSS length
	CreatedAt     time.Time
	ExpiresAt     time.Time
	RevokedAt     *time.Time
}

// Live refuses a session that has expired or was revoked.
func (s *EmbeddedSession) Live(at time.Time) error {
	switch {
	case s.RevokedAt != nil:
		return ErrSessionInvalid
	case !at.Before(s.ExpiresAt):
		return Refuse(KindUnauthorized, "session_expired", "This embedded session has expired.")
	}
	return nil
}

// ErrSessionInvalid is the answer to a token that is no session's, or was revoked.
var ErrSessionInvalid = Refuse(KindUnauthorized, "session_invalid", "This embedded session is not valid.")

// MayEmbed refuses a signer who cannot be asked to sign in an embedded page now.
func (e *Envelope) MayEmbed(signer uuid.UUID, at time.Time) (*Signer, error) {
	s := e.Signer(signer)
	switch {
	case s == nil:
		return nil, ErrNotFound
	case e.Status == StatusDraft:
		return nil, Refuse(KindConflict, "envelope_draft", "The envelope has not been sent.")
	case !e.Status.Open() || e.Due(at):
		return nil, Refuse(KindConflict, "envelope_closed", "The envelope is %s; nobody can sign it any more.", e.Status.Public())
	case !s.Awaited():
		return nil, Refuse(KindConflict, "signer_not_awaited", "The signer is %s and cannot sign now.", string(s.Status))
	}
	return s, nil
}
