package models

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Submission is a signer's input for signing. Images are PNG files that have already been checked and re-encoded.
type Submission struct {
	Fields    []FieldSubmission
	FontLabel *string
	Shown     *string // digest of the other signers' values that were shown, or nil if absent
	TimeZone  *string // such as Europe/Berlin; nil for UTC
	// Earlier maps the names returned by EarlierNames to values.
	Earlier map[string]string
	// Fit returns the number of characters of a text that fit legibly into a field, and reports whether all of them
	// do. If Fit is nil, any text fits.
	Fit func(f *Field, text string) (length int, fits bool)
}

// FieldSubmission is the value of one field. Members that the request omits are nil.
type FieldSubmission struct {
	FieldID uuid.UUID
	Image   []byte
	// ImageSize is the size of the picture in a sealed document, in bytes of compressed samples.
	ImageSize int
	Text      *string
	// AttachmentID identifies an uploaded file. Attachment is that file, or nil if it does not exist.
	AttachmentID *uuid.UUID
	Attachment   *Attachment
}

// FindAttachments sets the Attachment of each value to the uploaded file that it identifies.
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

// FieldValue is a signed value. It is written together with the signature and never changed.
type FieldValue struct {
	FieldID    uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SignerID   uuid.UUID
	Text       string
	Image      []byte // PNG, or nil if the value is not a picture
	// ImageSHA256 is the hash of Image, which identifies the picture even if it is not loaded. For an attachment, it is
	// the hash of the file, and Text is the file's name. It is "" for all other values.
	ImageSHA256 string `gorm:"column:image_sha256"`
	CreatedAt   time.Time
}

// SavedSignature is the latest signature that a person adopted, which is offered for reuse.
//
// It belongs to one tenant and one authentication method, and is not offered to signers with another method.
type SavedSignature struct {
	AppID      uuid.UUID `gorm:"primaryKey"`
	EmailKey   string    `gorm:"primaryKey"` // keyed hash of TenantID, AuthMethod and Email
	TenantID   string
	AuthMethod AuthMethod
	Email      string // lowercase
	Image      []byte // PNG
	FontLabel  *string
	UpdatedAt  time.Time
}

// saveSignature sets the signature to save for the person's next envelope.
func (e *Envelope) saveSignature(s *Signer, values []FieldValue, fontLabel *string, at time.Time) {
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

// valuesHash returns the hash that binds the audit trail to the signed values. It is the SHA-256 hash of the lines
// "<field id> <SHA-256 of the value>\n", one for each value, in field order. The value of an attachment field is the
// file.
func valuesHash(values []FieldValue) string {
	var lines bytes.Buffer
	for _, v := range values {
		sum := v.ImageSHA256 // of a picture or a file
		if sum == "" {
			sum = hexDigest([]byte(v.Text))
		}
		fmt.Fprintf(&lines, "%s %s\n", v.FieldID, sum)
	}
	return hexDigest(lines.Bytes())
}
