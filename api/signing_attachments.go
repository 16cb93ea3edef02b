package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal"
	"countersign/seal/picture"
	"countersign/store"
	"countersign/store/blob"
)

// attachmentView represents a file attached by a signer.
type attachmentView struct {
	AttachmentID uuid.UUID `json:"attachmentId"`
	FieldID      uuid.UUID `json:"fieldId"`
	Name         string    `json:"name"`
	MimeType     string    `json:"mimeType"`
	Size         int64     `json:"size"`
	SHA256       string    `json:"sha256"`
}

func viewAttachment(a *models.Attachment) attachmentView {
	return attachmentView{a.ID, a.FieldID, a.Name, a.MimeType, a.Size, a.SHA256}
}

func hasAttachments(e *models.Envelope) bool {
	return slices.ContainsFunc(e.Fields, func(f *models.Field) bool { return f.Type == models.FieldAttachment })
}

// attach adds a file to one of the signer's attachment fields.
func (s *signingHandler) attach(c *gin.Context, l signerLink) error {
	ctx := c.Request.Context()
	before, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	mine, _, err := s.fieldsToSign(c, l, before)
	if err != nil {
		return err
	}
	if !slices.Contains(slices.Collect(maps.Values(mine)), models.FieldAttachment) {
		return models.InvalidField("fieldId", "must be the id of an attachment field of this signer")
	}
	in, err := s.readParts(c, models.MaxAttachmentSize)
	if err != nil {
		return err
	}
	defer in.file.discard()
	field, err := attachmentRequest(in)
	if err != nil {
		return err
	}
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	known, err := s.store.Attachments(ctx, l.EnvelopeID)
	if err != nil {
		return err
	}
	act := s.signerContext(c, l)
	if err := e.CheckAttach(act, l.Link, field, in.file.Size, known); err != nil {
		return err
	}
	given, err := s.examineAttachment(c, in.file)
	if err != nil {
		return err
	}
	given.BlobKey = fmt.Sprintf("envelopes/%s/attachments/%s", e.ID, given.ID)
	if err := s.blobs.Put(ctx, in.file.file, given.BlobKey); err != nil {
		return err
	}
	err = command(s.subject, c, func(st signingStore) (made *models.Attachment, err error) {
		_, err = st.ChangeAttachments(ctx, l.App, l.EnvelopeID, func(e *models.Envelope, known []*models.Attachment) (err error) {
			made, err = e.Attach(s.signerContext(c, l), l.Link, field, given, known)
			return err
		})
		return made, err
	}, asJSON(http.StatusCreated, viewAttachment))
	if models.IsRejection(err) {
		s.uploads.discardBlob(c, given.BlobKey)
	}
	return notFoundAsInvalidLink(err)
}

// attachmentRequest reads all parts of a request except for the file.
func attachmentRequest(in *parts) (field uuid.UUID, err error) {
	o, err := in.object()
	if err != nil {
		return field, err
	}
	field = o.id("fieldId")
	if in.file == nil {
		o.bad("file", "is required")
	} else if in.file.Size == 0 {
		o.bad("file", "is empty")
	}
	return field, o.err()
}

// examineAttachment determines the type of a file from its content, and re-encodes an image.
func (s *signingHandler) examineAttachment(c *gin.Context, u *upload) (models.Attachment, error) {
	ctx := c.Request.Context()
	in := models.Attachment{ID: s.newID()}
	head := make([]byte, min(u.Size, 512))
	if _, err := u.file.ReadAt(head, 0); err != nil {
		return in, fmt.Errorf("read an attachment: %w", err)
	}
	if err := s.uploads.scan(ctx, u.file, u.Size); err != nil {
		return in, err
	}
	switch in.MimeType = http.DetectContentType(head); in.MimeType {
	case "application/pdf":
		info, err := s.uploads.admitAttachment(ctx, u.file, u.Size)
		if err != nil {
			return in, err
		}
		if len(info.Pages) > maxAttachmentPages {
			return in, models.InvalidField("file", "has %d pages; at most %d are allowed", len(info.Pages), maxAttachmentPages)
		}
	case "image/jpeg", "image/png":
		if err := s.reencode(ctx, u); err != nil {
			return in, err
		}
	default:
		return in, models.Reject(models.KindInvalid, "attachment_type", "The file must be a PDF, JPEG or PNG.")
	}
	in.Name = models.AttachmentName(u.Name, in.MimeType)
	if seal.CheckText(in.Name) != nil { // the name appears in the sealed document and its certificate
		in.Name = models.AttachmentName("", in.MimeType)
	}
	in.SHA256, in.Size, in.Encrypted = u.SHA256, u.Size, blob.Encrypts(s.blobs)
	return in, nil
}

// maxAttachmentPages is the maximum number of pages of an attached PDF.
const maxAttachmentPages = 500

// reencode replaces an image in a temporary file with its re-encoded form, subject to the concurrency limit.
func (s *signingHandler) reencode(ctx context.Context, u *upload) error {
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return err
	}
	defer done()
	release, err := s.acquireWorkMemory(ctx, memoryPerByte*models.MaxAttachmentSize)
	if err != nil {
		return err
	}
	defer release()
	b, err := picture.PhotoIn(ctx, s.admission.Validators, s.pictureBounds(), u.file, u.Size)
	if err != nil {
		return err
	}
	if len(b) > models.MaxAttachmentSize {
		return models.Reject(models.KindTooLarge, "file_too_large", "The re-encoded picture is larger than %d bytes.", models.MaxAttachmentSize)
	}
	return u.replace(b)
}

// detach removes an attached file that is not part of a signature.
func (s *signingHandler) detach(c *gin.Context, l signerLink) error {
	id, err := pathID(c, "aid")
	if err != nil {
		return err
	}
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	if err := e.CheckSign(s.signerContext(c, l), l.Link); err != nil {
		return err
	}
	known, err := s.store.Attachments(c.Request.Context(), e.ID)
	if err != nil {
		return err
	}
	a := models.FindAttachment(models.AttachmentsOf(known, l.SignerID), id)
	if a == nil {
		return models.ErrNotFound
	}
	removed, err := s.store.RemoveAttachment(c.Request.Context(), a.ID)
	if err != nil {
		return err
	}
	if !removed { // signed concurrently, so the file is now evidence
		return models.ErrNotFound
	}
	s.uploads.discardBlob(c, a.BlobKey)
	return respondNoContent(c)
}

// signingAttachment sends an attached file to a signer. The file must be one of the signer's own files or part of a
// signature.
func (s *signingHandler) signingAttachment(c *gin.Context, l signerLink) error {
	e, err := s.confirmedReading(c, l)
	if err != nil {
		return err
	}
	return s.sendAttachment(c, e, func(a *models.Attachment) bool { return a.Used || a.SignerID == l.SignerID })
}

// getAttachment sends a file that is part of a signature to the owner of the envelope.
func (s *signingHandler) getAttachment(c *gin.Context, _ caller, e *models.Envelope) error {
	return s.sendAttachment(c, e, func(a *models.Attachment) bool { return a.Used })
}

func (s *signingHandler) sendAttachment(c *gin.Context, e *models.Envelope, shown func(*models.Attachment) bool) error {
	ctx := c.Request.Context()
	id, err := pathID(c, "aid")
	if err != nil {
		return err
	}
	known, err := s.store.Attachments(ctx, e.ID)
	if err != nil {
		return err
	}
	a := models.FindAttachment(known, id)
	if a == nil || !shown(a) {
		return models.ErrNotFound
	}
	if a.PurgedAt != nil {
		return models.ErrPurged
	}
	f, err := s.files.Open(ctx, store.AttachmentRecord(a))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !a.Used:
		return models.ErrNotFound // the attachment was removed concurrently
	case err != nil:
		return s.rejectFile(ctx, err, "an attachment", e.ID, a.ID, a.BlobKey)
	}
	defer func() { _ = f.Close() }() // opened only for reading
	return s.serveContent(c, a.MimeType, contentDisposition("attachment", a.Name), a.SHA256, a.CreatedAt, f)
}
