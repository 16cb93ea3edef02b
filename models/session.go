package models

import (
	"time"

	"github.com/google/uuid"
)

// ConsoleSession is a console user's being signed in, on one device.
type ConsoleSession struct {
	ID        uuid.UUID `gorm:"primaryKey"` // of its token
	UserID    uuid.UUID
	Device    []byte // sealed
	CreatedAt time.Time
	SeenAt    time.Time // when the person last did something, to a minute
	ExpiresAt time.Time
}

// ConsoleFactor is a console user's second factor: one-time passwords (RFC 6238).
type ConsoleFactor struct {
	UserID      uuid.UUID `gorm:"column:id;primaryKey"`
	Secret      []byte    // sealed
	CreatedAt   time.Time
	ConfirmedAt *time.Time // nil: a first code is awaited
	LastStep    int64      // of the last code taken
}

// ConsoleRecoveryCode stands in for a lost second factor, once.
type ConsoleRecoveryCode struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Hash   []byte    `gorm:"primaryKey"` // SHA-256
}

// SecondFactor says which console users must have a second factor.
type SecondFactor string

// The choices.
const (
	SecondFactorOptional SecondFactor = "optional" // who wants one
	SecondFactorAdmins   SecondFactor = "admins"
	SecondFactorRequired SecondFactor = "required" // everybody
)

// Known reports whether f is one of the choices.
func (f SecondFactor) Known() bool {
	return f == SecondFactorOptional || f == SecondFactorAdmins || f == SecondFactorRequired
}

// Requires reports whether users of role r must have one.
func (f SecondFactor) Requires(r Role) bool {
	return f == SecondFactorRequired || f == SecondFactorAdmins && r == RoleAdmin
}
