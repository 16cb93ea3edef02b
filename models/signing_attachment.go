package models

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The limits of attachments.
const (
	MaxAttachmentSize      = 10 << 20 // bytes per file
	MaxAttachmentsPerField = 3
	MaxSignerAttachments   = 20 << 20 // bytes per signer
	// MaxEnvelopeAttachments limits, in bytes, the attachments of all signers together, because a sealed document
	// contains all of them.
	MaxEnvelopeAttachments = 60 << 20
	// UnusedAttachmentAge is the time after which an attachment without a signature is removed.
	UnusedAttachmentAge = 24 * time.Hour
)

// Attachment is a file that a signer uploaded: a PDF or a re-encoded picture. It becomes part of the envelope when its
// signer signs with it.
type Attachment struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	FieldID    uuid.UUID
	SignerID   uuid.UUID
	Name       string // of the uploaded file
	MimeType   string
	SHA256     string `gorm:"column:sha256"` // lower-case hex, of the stored file
	Size       int64  // bytes
	BlobKey    string
	Encrypted  bool // the file is stored encrypted
	Used       bool // the signer has signed with it
	Withdrawn  bool // another person took the signer's place before it was used
	CreatedAt  time.Time
	PurgedAt   *time.Time // the file is gone
}

// CheckAttach rejects an attachment of size bytes that could not be added whatever its content. known are the
// attachments of the envelope.
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
		return Refuse(KindInvalid, "too_many_attachments", "The field has %d files already. Remove one first.", MaxAttachmentsPerField)
	case own > MaxSignerAttachments:
		return Refuse(KindTooLarge, "attachments_too_large", "The files of one signer can have at most %d MB in total.", MaxSignerAttachments>>20)
	case all > MaxEnvelopeAttachments:
		return Refuse(KindTooLarge, "attachments_too_large", "The files of all signers can have at most %d MB in total.", MaxEnvelopeAttachments>>20)
	}
	return nil
}

// Attach adds an examined file to one of the signer's fields. The audit trail records it when the signer signs.
func (e *Envelope) Attach(act ActionContext, l Link, field uuid.UUID, a Attachment, known []*Attachment) (*Attachment, error) {
	if err := e.CheckAttach(act, l, field, a.Size, known); err != nil {
		return nil, err
	}
	a.EnvelopeID, a.FieldID, a.SignerID, a.CreatedAt = e.ID, field, l.SignerID, act.At
	e.Attached = append(e.Attached, &a)
	return &a, nil
}

// AttachmentsOf returns the attachments of a signer that no signature uses yet.
func AttachmentsOf(all []*Attachment, signer uuid.UUID) []*Attachment {
	return slices.DeleteFunc(slices.Clone(all), func(a *Attachment) bool { return a.SignerID != signer || a.Used })
}

// FindAttachment is the attachment of that id, or nil.
func FindAttachment(all []*Attachment, id uuid.UUID) *Attachment {
	return find(all, func(a *Attachment) bool { return a.ID == id })
}

// attachmentExtensions are the kinds of files that are taken, with the endings of their names.
//
//nolint:gochecknoglobals // a constant table
var attachmentExtensions = map[string]string{"application/pdf": ".pdf", "image/jpeg": ".jpg", "image/png": ".png"}

// AttachmentName returns the name of an attachment for the name that the signer's file had: safe for any file system,
// and with the extension of its type.
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

// attachment checks the file submitted for a field, and reports whether the entry has one.
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

// recordAttachments records in the audit trail the files that a signer signs with.
func (e *Envelope) recordAttachments(act ActionContext, signer uuid.UUID) {
	for _, a := range e.Attached {
		e.record(act, EventAttachmentAdded, signer, Detail{
			"signerId": signer.String(), "attachmentId": a.ID.String(), "fieldId": a.FieldID.String(),
			"sha256": a.SHA256, "size": a.Size, "mimeType": a.MimeType,
		})
	}
}
