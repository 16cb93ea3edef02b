package api

import (
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal"
)

// finishedPage sends an image of a page as it will be sealed. The page contains the values of all signers who have
// signed, the values in the request, and the footer line. The delivery of the image is recorded.
func (s *signingHandler) finishedPage(c *gin.Context, l signerLink) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	d, err := originalOf(c, e, "docId")
	if err != nil {
		return err
	}
	r, err := newPageRequest(c, e, d, level)
	if err != nil {
		return err
	}
	sub, err := s.readSubmission(c, l, e)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	if hasAttachments(e) {
		uploaded, err := s.store.Attachments(ctx, e.ID)
		if err != nil {
			return err
		}
		sub.FindAttachments(uploaded)
	}
	act := s.signerContext(c, l)
	mine, shown, err := e.Preview(act, l.Link, sub)
	if errors.Is(err, models.ErrValuesChanged) {
		return s.changedValues(c, l)
	}
	if err != nil {
		return err
	}
	job, err := s.finishedJob(c, r, mine)
	if err != nil {
		return err
	}
	job.Version = shown
	picture, err := s.pages.renderReading(ctx, r, job)
	if err != nil {
		return err
	}
	hash := hex.EncodeToString(picture.Hash)
	if _, err := s.store.Change(ctx, l.App, l.EnvelopeID, func(e *models.Envelope) error {
		return e.RecordFinished(act, l.Link, mine, shown, models.FinishedPage{Document: d.ID, Page: r.page, Level: r.level, Appearance: hash})
	}); err != nil {
		return notFoundAsInvalidLink(err)
	}
	setAppearance(c, r, picture)
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, picture.MediaType, picture.Content)
	return nil
}

// finishedJob returns a job that draws a page with the values of all signers who have signed and of the current signer.
// The parameter mine contains the values of the current signer.
func (s *signingHandler) finishedJob(c *gin.Context, r pageRequest, mine []models.FieldValue) (seal.Reading, error) {
	ctx := c.Request.Context()
	e, d := r.envelope, r.envelope.Document(r.document.ID)
	values, err := s.store.ValuesWithoutPictures(ctx, e)
	if err != nil {
		return seal.Reading{}, err
	}
	_, settings, err := s.store.Settings(ctx, e.AppID, e.TenantID)
	if err != nil {
		return seal.Reading{}, err
	}
	job, err := s.pages.newReading(ctx, e, d, append(values, mine...), r.page)
	job.Foot = &seal.FootLine{Service: seal.ServiceName, EnvelopeID: e.ID.String(), UploadSHA256: d.SHA256, Language: settings.LanguageOrDefault()}
	return job, err
}
