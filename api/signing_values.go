package api

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// enteredValueView represents a value entered in a field, together with the field's position.
type enteredValueView struct {
	FieldID    uuid.UUID        `json:"fieldId"`
	SignerID   uuid.UUID        `json:"signerId"`
	SignerName string           `json:"signerName"`
	DocumentID uuid.UUID        `json:"documentId"`
	Type       models.FieldType `json:"type"`
	positionView
	Value      *string         `json:"value"`   // null if the value is an image
	Picture    *string         `json:"picture"` // SHA-256 of the image; null if the value is text
	SignedAt   *time.Time      `json:"signedAt"`
	Attachment *attachmentView `json:"attachment,omitempty"` // the file whose name is in Value
	// These members are present only if the envelope uses features that are not part of the original API.
	Name   string `json:"name,omitempty"`
	Label  string `json:"label,omitempty"`
	Group  string `json:"group,omitempty"`
	Option string `json:"option,omitempty"`
}

// enteredValues returns the values of all signers who have signed e, ordered by signature and then by field.
func (s *signingHandler) enteredValues(ctx context.Context, e *models.Envelope) ([]enteredValueView, error) {
	out := []enteredValueView{}
	signed := slices.DeleteFunc(slices.Clone(e.Signers), func(g *models.Signer) bool { return !hasSigned(g) })
	if len(signed) == 0 {
		return out, nil
	}
	slices.SortStableFunc(signed, func(a, b *models.Signer) int { return a.SignedAt.Compare(*b.SignedAt) })
	values, err := s.store.ValuesWithoutPictures(ctx, e)
	if err != nil {
		return nil, err
	}
	extended := e.Extended()
	byField := make(map[uuid.UUID]models.FieldValue, len(values))
	for _, v := range values {
		byField[v.FieldID] = v
	}
	files := make(map[uuid.UUID]attachmentView)
	if hasAttachments(e) {
		known, err := s.store.Attachments(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		for _, a := range known {
			if a.Used {
				files[a.FieldID] = viewAttachment(a)
			}
		}
	}
	for _, g := range signed {
		for _, f := range e.Fields {
			v, ok := byField[f.ID]
			if f.SignerID != g.ID || !ok {
				continue
			}
			entry := enteredValueView{
				FieldID: f.ID, SignerID: g.ID, SignerName: g.Name, DocumentID: f.DocumentID, Type: f.Type, positionView: viewPosition(f),
				SignedAt: utcPtr(g.SignedAt),
			}
			if a := f.Attributes; extended {
				entry.Name, entry.Label, entry.Group, entry.Option = f.Name, a.Label, a.Group, a.Option
			}
			if file, ok := files[f.ID]; ok {
				entry.Attachment, entry.Value = &file, &v.Text
			} else if v.ImageSHA256 != "" {
				entry.Picture = &v.ImageSHA256
			} else {
				entry.Value = &v.Text
			}
			out = append(out, entry)
		}
	}
	return out, nil
}

// changedValues returns the error for a signature based on outdated values. The error contains all current values, and
// changedValues records that they were displayed.
func (s *signingHandler) changedValues(c *gin.Context, l signerLink) error {
	ctx := c.Request.Context() // recorded in a separate change, because the requested one is rejected and can be retried
	e, err := s.store.Change(ctx, l.App, l.EnvelopeID, func(e *models.Envelope) error {
		act := s.signerContext(c, l)
		if err := e.CheckSign(act, l.Link); err != nil {
			return err // the envelope was signed or closed concurrently
		}
		_, err := e.RecordDisplayedValues(act, l.Link)
		return err
	})
	if err != nil {
		return notFoundAsInvalidLink(err)
	}
	filled, err := s.enteredValues(ctx, e)
	if err != nil {
		return err
	}
	rejected := *models.ErrValuesChanged
	rejected.Details = map[string]any{"filled": filled, "shown": e.Signer(l.SignerID).Shown}
	return &rejected
}

// displayedValuesDigest responds with the digest of the current values, a cheap way for a client to detect that another
// signer has signed.
func (s *signingHandler) displayedValuesDigest(c *gin.Context, l signerLink) error {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	act := s.signerContext(c, l)
	signer, err := e.Reader(l.Link, act.At, false)
	if err != nil {
		return err
	}
	if !signer.Confirmed(act) {
		return respond(c, http.StatusOK, gin.H{"shown": nil})
	}
	now, err := e.Shown()
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{"shown": now.Digest})
}

// signingPicture sends an image that is part of a signature.
func (s *signingHandler) signingPicture(c *gin.Context, l signerLink) error {
	e, err := s.confirmedReading(c, l)
	if err != nil {
		return err
	}
	filled, err := s.enteredValues(c.Request.Context(), e)
	if err != nil {
		return err
	}
	hash := c.Param("sha256")
	for _, f := range filled {
		if f.Picture == nil || *f.Picture != hash {
			continue
		}
		v, err := s.store.Value(c.Request.Context(), e, f.FieldID)
		if err != nil {
			return err
		}
		return s.serveContent(c, "image/png", "", hash, time.Time{}, bytes.NewReader(v.Image))
	}
	return models.ErrNotFound
}

// confirmedReading returns the envelope of a link if the client is confirmed.
func (s *signingHandler) confirmedReading(c *gin.Context, l signerLink) (*models.Envelope, error) {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return nil, err
	}
	_, err = e.ConfirmedReader(s.signerContext(c, l), l.Link)
	return e, err
}

// sendReadingCopy streams a document with the values of all signers who have signed.
func (s *signingHandler) sendReadingCopy(c *gin.Context, e *models.Envelope, d *models.Document) error {
	ctx := c.Request.Context()
	now, err := e.Shown()
	if err != nil {
		return err
	}
	values, err := s.pages.store.ValuesWithoutPictures(ctx, e)
	if err != nil {
		return err
	}
	job, err := s.pages.newReading(ctx, e, d, values, 0)
	if err != nil {
		return err
	}
	d = d.Presented()
	job.Version = now.Digest
	f, err := s.openFile(ctx, e, d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	job.Original, job.Size = f, f.Size()
	copied, err := s.pages.readingCopy(ctx, job)
	if err != nil {
		return err
	}
	return s.serveContent(c, d.MimeType, contentDisposition("inline", e.FileName(d)), d.SHA256+"-"+now.Digest, time.Time{}, copied)
}
