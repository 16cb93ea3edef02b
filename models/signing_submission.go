package models

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Submission is what a signer sends when signing. Images are PNG, already
// checked and re-encoded.
type Submission struct {
	Fields    []FieldSubmission
	FontLabel *string
	Shown     *string // the digest of the other signers' values that were shown; nil: not named
	TimeZone  *string // of the signer, such as Europe/Berlin; nil: UTC
	// Earlier maps the names that EarlierNames returns to values.
	Earlier map[string]string
	// Fit returns how many characters of a text fit legibly into a field, and whether all do; nil: any text fits.
	Fit func(f *Field, text string) (length int, fits bool)
}

// FieldSubmission is the value of one field. Nil means that nothing was given.
type FieldSubmission struct {
	FieldID uuid.UUID
	Image   []byte
	// ImageSize is what the picture takes in a sealed document, in bytes of its compressed samples.
	ImageSize int
	Text      *string
	// AttachmentID names a file that was uploaded before; Attachment is that file, nil if there is none of that id.
	AttachmentID *uuid.UUID
	Attachment   *Attachment
}

// FindAttachments finds the files that the values name among those that were uploaded.
func (sub *Submission) FindAttachments(uploaded []*Attachment) {
	for i := range sub.Fields {
		if id := sub.Fields[i].AttachmentID; id != nil {
			sub.Fields[i].Attachment = FindAttachment(uploaded, *id)
		}
	}
}

// pictureSizes returns what the pictures take, by their hash.
func (sub *Submission) pictureSizes() map[string]int {
	sizes := make(map[string]int)
	for _, f := range sub.Fields {
		if len(f.Image) > 0 {
			sizes[hexDigest(f.Image)] = f.ImageSize
		}
	}
	return sizes
}

// FieldValue is a value that was signed for. It is written once, with the
// signature, and never changed.
type FieldValue struct {
	FieldID    uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Text       string
	Image      []byte // PNG; nil for all that is no picture
	// ImageSHA256 is the hash of Image, which names it where the picture itself is not loaded, or of an
	// attachment's file, whose name is Text; "" for all else.
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
	if !s.KeepsSignature() {
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

// valuesHash binds the audit trail to the signed values: SHA-256 over "<field id> <SHA-256 of the value>\n" of each
// value in field order. The value of an attachment field is the file.
func valuesHash(values []FieldValue) string {
	var lines bytes.Buffer
	for _, v := range values {
		sum := v.ImageSHA256 // of a picture, or of a file
		if sum == "" {
			sum = hexDigest([]byte(v.Text))
		}
		fmt.Fprintf(&lines, "%s %s\n", v.FieldID, sum)
	}
	return hexDigest(lines.Bytes())
}
