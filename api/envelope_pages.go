package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// envelopePage sends a picture of a page of an original.
func (s *documentHandler) envelopePage(c *gin.Context, _ caller, e *models.Envelope) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	return s.sendEnvelopePage(c, e, level)
}

// envelopePageText sends the text of a page of an original.
func (s *documentHandler) envelopePageText(c *gin.Context, _ caller, e *models.Envelope) error {
	return s.sendEnvelopePage(c, e, models.TextLevel)
}

func (s *documentHandler) sendEnvelopePage(c *gin.Context, e *models.Envelope, level int) error {
	d, err := originalOf(c, e, "documentId")
	if err != nil {
		return err
	}
	r, err := newPageRequest(c, e, d, level)
	if err != nil {
		return err
	}
	return s.pages.send(c, r, nil)
}
