package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// signingPage sends an image of a page, and records its delivery.
func (s *signingHandler) signingPage(c *gin.Context, l signerLink) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	return s.sendPageToSigner(c, l, level)
}

func (s *signingHandler) signingPageText(c *gin.Context, l signerLink) error {
	return s.sendPageToSigner(c, l, models.TextLevel)
}

func (s *signingHandler) sendPageToSigner(c *gin.Context, l signerLink, level int) error {
	e, err := s.readEnvelope(c, l, false)
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
	return s.pages.send(c, r, func() error {
		if signer := e.Signer(l.SignerID); c.Request.Method != http.MethodGet || signer.HasDelivered(d.ID, r.page, level) {
			return nil
		}
		_, err := s.store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) error {
			return e.RecordDelivery(l.Link, s.now(), d.ID, r.page, level)
		})
		return notFoundAsInvalidLink(err)
	})
}

// deliveredPage returns the most detailed image of a page that was delivered to the holder of a link, or nil if none
// was delivered.
func (s *signingHandler) deliveredPage(c *gin.Context, l signerLink, document uuid.UUID, page int) (*models.Appearance, error) {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return nil, err
	}
	signer, d := e.Signer(l.SignerID), e.Document(document)
	if signer == nil || d == nil {
		return nil, nil //nolint:nilnil // no image was delivered
	}
	level := signer.DeliveredLevel(document, page)
	if level == models.TextLevel {
		return nil, nil //nolint:nilnil // no image was delivered
	}
	p, err := s.pages.store.PageFile(c.Request.Context(), d.Presented().BlobKey, e.AppearanceProfile, page, level)
	if err != nil || p == nil {
		return nil, err
	}
	return &models.Appearance{Level: level, Hash: p.Appearance}, nil
}
