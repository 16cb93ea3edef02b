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
	RoleSupport Role = "support" // also resends, corrects and voids envelopes
	RoleSender  Role = "sender"  // also creates, edits and sends envelopes
	RoleAdmin   Role = "admin"   // also changes settings, webhooks and users
)

// Roles lists the roles in order.
var Roles = []Role{RoleViewer, RoleSupport, RoleSender, RoleAdmin}

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Allows reports whether r may do what needs the role least.
func (r Role) Allows(least Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, least) && r.Valid()
}

// ConsoleUser is a user of an app's console.
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
	// OIDCSubject is whom the provider knows the user as, see store.ProviderIdentity; nil: the user signs in with a password.
	OIDCSubject []byte `gorm:"column:oidc_subject"`
}

// AtProvider reports whether the user signs in at the OpenID provider, and with no password.
func (u *ConsoleUser) AtProvider() bool { return u.OIDCSubject != nil }

// UserActor names a console user as an event's actor.
func UserActor(id uuid.UUID) string { return "user:" + id.String() }

// User returns the console user who acts; nil: an application, a signer or the service does.
func (act ActionContext) User() *uuid.UUID {
	text, ok := strings.CutPrefix(act.Actor, "user:")
	if id, err := uuid.Parse(text); ok && err == nil {
		return &id
	}
	return nil
}

// EmailKey is the form in which e-mail addresses are compared.
func EmailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Contact is a person whom an app often asks to sign.
type Contact struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Name      string
	Email     string
	EmailKey  string // keyed hash of Email, which is unique in the app
	Phone     *string
	CreatedAt time.Time
}
