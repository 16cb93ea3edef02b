package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Submission is what a signer sends when signing. Images are PNG, already
// checked and re-encoded.
type Submission struct {
	Fields    []FieldSubmission
	FontLabel *string
	Shown     *string // the digest of what was shown of others' values; nil: the client names none
	TimeZone  *string // of the signer, such as Europe/Berlin; nil: UTC
	// Earlier has the values, by name, that EarlierNames asks for.
	Earlier map[string]string
}

// FieldSubmission is the value of one field. Nil means that nothing was given.
type FieldSubmission struct {
	FieldID uuid.UUID
	Image   []byte
	Text    *string
}

// FieldValue is a value that was signed for. It is written once, with the
// signature, and never changed.
type FieldValue struct {
	FieldID    uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Text       string
	Image      []byte // PNG; nil for text, date and checkbox
	// ImageSHA256 is the hash of Image, which names it where the picture itself is not loaded; "" without one.
	ImageSHA256 string `gorm:"column:image_sha256"`
	CreatedAt   time.Time
}

// SavedSignature is the signature a person last adopted, offered to them again.
//
// It belongs to one tenant and one authentication method: who proves
// it in another way is not offered it.
type SavedSignature struct {
	AppID      uuid.UUID `gorm:"primaryKey"`
	EmailKey   string    `gorm:"primaryKey"` // keyed hash of TenantID, AuthMethod and Email
	TenantID   string
	AuthMethod AuthMethod
	Email      string // lower case
	Image      []byte // PNG
	FontLabel  *string
	UpdatedAt  time.Time
}

// rememberSignature remembers the signature for the person's next envelope.
func (e *Envelope) rememberSignature(s *Signer, values []FieldValue, fontLabel *string, at time.Time) {
	if s.AuthMethod == AuthNone {
		return
	}
	for _, f := range e.Fields {
		if f.Type != FieldSignature {
			continue
		}
		for _, v := range values {
			if v.FieldID == f.ID {
				e.Adopted = &SavedSignature{
					AppID: e.AppID, TenantID: e.TenantID, AuthMethod: s.AuthMethod, Email: EmailKey(s.Email),
					Image: v.Image, FontLabel: fontLabel, UpdatedAt: at,
				}
				return
			}
		}
	}
}

func pictureHash(png []byte) string {
	if len(png) == 0 {
		return ""
	}
	sum := sha256.Sum256(png)
	return hex.EncodeToString(sum[:])
}

// valuesHash binds the audit trail to what was signed for: SHA-256 over
// "<field id> <SHA-256 of the value>\n" of each value in field order.
func valuesHash(values []FieldValue) string {
	h := sha256.New()
	for _, v := range values {
		b := v.Image
		if b == nil {
			b = []byte(v.Text)
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(h, "%s %s\n", v.FieldID, hex.EncodeToString(sum[:]))
	}
	return hex.EncodeToString(h.Sum(nil))
}
