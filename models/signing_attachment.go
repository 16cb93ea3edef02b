package models

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Limits for attachments.
const (
	MaxAttachmentSize      = 10 << 20 // bytes per file
	MaxAttachmentsPerField = 3
	MaxSignerAttachments   = 20 << 20 // bytes per signer
	// MaxEnvelopeAttachments is the maximum total size, in bytes, of the attachments of all signers. Every sealed
	// document contains all of them.
	MaxEnvelopeAttachments = 60 << 20
	// UnusedAttachmentAge is the age at which an attachment that was not used in a signature is removed.
	UnusedAttachmentAge = 24 * time.Hour
)

// Attachment is a file uploaded by a signer, which is a PDF or a re-encoded picture. It becomes part of the envelope
// when the signer uses it in a signature.
type Attachment struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	FieldID    uuid.UUID
	SignerID   uuid.UUID
	Name       string // name of the uploaded file
	MimeType   string
	SHA256     string `gorm:"column:sha256"` // hash of the stored file, in lowercase hexadecimal
	Size       int64  // bytes
	BlobKey    string
	Encrypted  bool // whether the file is stored encrypted
	Used       bool // whether the signer has used it in a signature
	Withdrawn  bool // whether the signer was replaced before using it
	CreatedAt  time.Time
	PurgedAt   *time.Time // time at which the file was removed
}

// CheckAttach rejects an attachment of the given size that could not be added to the known attachments of the
// envelope, regardless of its content.
func (e *Envelope) CheckAttach(act ActionContext, l Link, field uuid.UUID, size int64, known []*Attachment) error {
	s, err := e.authorizeSign(act, l)
	if err != nil {
		return err
	}
	if f := e.Field(field); f == nil || f.SignerID != s.ID || f.Type != FieldAttachment {
		return InvalidField("fieldId", "must be the id of an attachment field of this signer")
	}
	count, own, all := 0, size, size
	for _, a := range known {
		all += a.Size
		if a.SignerID == s.ID {
			own += a.Size
		}
		if a.FieldID == field {
			count++
		}
	}
	switch {
	case count >= MaxAttachmentsPerField:
		return Reject(KindInvalid, "too_many_attachments", "The field already has %d files. Remove one first.", MaxAttachmentsPerField)
	case own > MaxSignerAttachments:
		return Reject(KindTooLarge, "attachments_too_large", "The files of one signer are limited to %d MiB in total.", MaxSignerAttachments>>20)
	case all > MaxEnvelopeAttachments:
		return Reject(KindTooLarge, "attachments_too_large", "The files of all signers are limited to %d MiB in total.", MaxEnvelopeAttachments>>20)
	}
	return nil
}

// Attach adds an examined file to one of the signer's fields. The file is recorded in the audit trail when the signer
// signs.
func (e *Envelope) Attach(act ActionContext, l Link, field uuid.UUID, a Attachment, known []*Attachment) (*Attachment, error) {
	if err := e.CheckAttach(act, l, field, a.Size, known); err != nil {
		return nil, err
	}
	a.EnvelopeID, a.FieldID, a.SignerID, a.CreatedAt = e.ID, field, l.SignerID, act.At
	e.Attached = append(e.Attached, &a)
	return &a, nil
}

// AttachmentsOf returns the attachments of a signer that have not been used in a signature yet.
func AttachmentsOf(all []*Attachment, signer uuid.UUID) []*Attachment {
	return slices.DeleteFunc(slices.Clone(all), func(a *Attachment) bool { return a.SignerID != signer || a.Used })
}

// FindAttachment returns the attachment with the given ID, or nil.
func FindAttachment(all []*Attachment, id uuid.UUID) *Attachment {
	return find(all, func(a *Attachment) bool { return a.ID == id })
}

// attachmentExtensions maps the accepted file types to their file name extensions.
//
//nolint:gochecknoglobals // a constant table
var attachmentExtensions = map[string]string{"application/pdf": ".pdf", "image/jpeg": ".jpg", "image/png": ".png"}

// AttachmentName converts the name of the signer's file to the name of the attachment. The result is valid on any file
// system, and has the extension of the file's type.
func AttachmentName(given, mimeType string) string {
	stem := given
	for _, ending := range []string{".pdf", ".jpg", ".jpeg", ".png"} {
		if n := len(stem) - len(ending); n > 0 && strings.EqualFold(stem[n:], ending) {
			stem = stem[:n]
			break
		}
	}
	if stem = fileStem(stem, 100); stem == "" {
		stem = "attachment"
	}
	return stem + attachmentExtensions[mimeType]
}

// attachment checks the file submitted for a field, and reports whether the entry has a file.
func (c *valueCheck) attachment(v *entry) bool {
	a := v.attachment
	switch {
	case strings.TrimSpace(v.text) != "":
		c.add(v, ruleType, "is only for text fields; an attachment field takes attachmentId")
	case len(v.image) > 0:
		c.addAt(v, "signatureImageBase64", ruleType, "is only for signature, initial and stamp fields; an attachment field takes attachmentId")
	case v.attachmentID == nil && v.field.Required:
		c.require(v, "attachmentId", "is required for an attachment field")
	case v.attachmentID != nil && (a == nil || a.FieldID != v.field.ID || a.SignerID != v.field.SignerID || a.Used):
		c.addAt(v, "attachmentId", ruleType, "must be the id of a file that was uploaded for this field")
	default:
		return a != nil
	}
	return false
}

// recordAttachments records a signer's signed attachments in the audit trail.
func (e *Envelope) recordAttachments(act ActionContext, signer uuid.UUID) {
	for _, a := range e.Attached {
		e.record(act, EventAttachmentAdded, signer, Detail{
			"signerId": signer.String(), "attachmentId": a.ID.String(), "fieldId": a.FieldID.String(),
			"sha256": a.SHA256, "size": a.Size, "mimeType": a.MimeType,
		})
	}
}
