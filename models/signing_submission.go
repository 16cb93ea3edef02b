package models

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Submission is the input of a signer's signature. Images are PNG, already checked and re-encoded.
type Submission struct {
	Fields    []FieldSubmission
	FontLabel *string
	Shown     *string // the digest of the other signers' values that were shown; nil: not named
	TimeZone  *string // such as Europe/Berlin; nil: UTC
	// Earlier maps the names that EarlierNames returns to values.
	Earlier map[string]string
	// Fit returns how many characters of a text fit legibly into a field, and whether all do; nil: any text fits.
	Fit func(f *Field, text string) (length int, fits bool)
}

// FieldSubmission is the value of one field. Nil members are absent from the request.
type FieldSubmission struct {
	FieldID uuid.UUID
	Image   []byte
	// ImageSize is the picture's size in a sealed document, in bytes of compressed samples.
	ImageSize int
	Text      *string
	// AttachmentID identifies an uploaded file; Attachment is that file, or nil if it does not exist.
	AttachmentID *uuid.UUID
	Attachment   *Attachment
}

// FindAttachments sets the Attachment of each value from the uploaded files.
func (sub *Submission) FindAttachments(uploaded []*Attachment) {
	for i := range sub.Fields {
		if id := sub.Fields[i].AttachmentID; id != nil {
			sub.Fields[i].Attachment = FindAttachment(uploaded, *id)
		}
	}
}

// pictureSizes returns the sizes of the pictures in a sealed document, by hash.
func (sub *Submission) pictureSizes() map[string]int {
	sizes := make(map[string]int)
	for _, f := range sub.Fields {
		if len(f.Image) > 0 {
			sizes[hexDigest(f.Image)] = f.ImageSize
		}
	}
	return sizes
}

// FieldValue is a signed value. It is written once, with the signature, and never changed.
type FieldValue struct {
	FieldID    uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Text       string
	Image      []byte // PNG; nil if the value is not a picture
	// ImageSHA256 is the hash of Image, which identifies the picture even if it is not loaded, or the hash of an
	// attachment's file, whose name is Text; "" for all other values.
	ImageSHA256 string `gorm:"column:image_sha256"`
	CreatedAt   time.Time
}

// SavedSignature is a person's last adopted signature, offered for reuse.
//
// It belongs to one tenant and one authentication method. It is not offered to a signer who authenticates by another
// method.
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
