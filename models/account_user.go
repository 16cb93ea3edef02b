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
	EmailKey     string // keyed hash of Email, unique within the service
	Name         string
	PasswordHash []byte // bcrypt
	Role         Role
	CreatedAt    time.Time
	DisabledAt   *time.Time
	// OIDCSubject identifies the user at the provider (see store.ProviderIdentity). It is nil if the user signs in with
	// a password.
	OIDCSubject []byte `gorm:"column:oidc_subject"`
}

// AtProvider reports whether the user signs in through the OpenID provider rather than with a password.
func (u *ConsoleUser) AtProvider() bool { return u.OIDCSubject != nil }

// UserActor returns the actor of an event that is caused by a console user.
func UserActor(id uuid.UUID) string { return "user:" + id.String() }

// User returns the ID of the acting console user, or nil if the actor is an application, a signer or the service.
func (act ActionContext) User() *uuid.UUID {
	text, ok := strings.CutPrefix(act.Actor, "user:")
	if id, err := uuid.Parse(text); ok && err == nil {
		return &id
	}
	return nil
}

// EmailKey returns an email address in the form used for comparisons.
func EmailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Contact is an entry in an app's address book.
type Contact struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	AppID     uuid.UUID
	Name      string
	Email     string
	EmailKey  string // keyed hash of Email, unique within the app
	Phone     *string
	CreatedAt time.Time
}
