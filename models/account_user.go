package models

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// ConsoleUser is a user of an app's console.
type ConsoleUser struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	AppID        uuid.UUID
	Email        string
	EmailKey     string // keyed hash of Email, unique in the service
	Name         string
	PasswordHash []byte // bcrypt
	Role         Role
	CreatedAt    time.Time
	DisabledAt   *time.Time
	// OIDCSubject identifies the user at the provider, see store.ProviderIdentity; nil: the user signs in with a
	// password.
	OIDCSubject []byte `gorm:"column:oidc_subject"`
}

// AtProvider reports whether the user signs in at the OpenID provider, and with no password.
func (u *ConsoleUser) AtProvider() bool { return u.OIDCSubject != nil }

// UserActor names a console user as an event's actor.
func UserActor(id uuid.UUID) string { return "user:" + id.String() }

// User returns the acting console user; nil if an application, a signer or the service acts.
func (act ActionContext) User() *uuid.UUID {
	text, ok := strings.CutPrefix(act.Actor, "user:")
	if id, err := uuid.Parse(text); ok && err == nil {
		return &id
	}
	return nil
}

// EmailKey returns the form of an email address for comparisons.
func EmailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Contact is an entry of an app's address book.
type Contact struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Name      string
	Email     string
	EmailKey  string // keyed hash of Email, unique in the app
	Phone     *string
	CreatedAt time.Time
}
