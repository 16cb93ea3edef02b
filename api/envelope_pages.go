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

// envelopePageLines sends the lines of a page of an original.
func (s *documentHandler) envelopePageLines(c *gin.Context, _ caller, e *models.Envelope) error {
	r, err := envelopePageRequest(c, e, models.TextLevel)
	if err != nil {
		return err
	}
	return s.pages.sendLines(c, r)
}

func (s *documentHandler) sendEnvelopePage(c *gin.Context, e *models.Envelope, level int) error {
	r, err := envelopePageRequest(c, e, level)
	if err != nil {
		return err
	}
	return s.pages.send(c, r, nil)
}

func envelopePageRequest(c *gin.Context, e *models.Envelope, level int) (pageRequest, error) {
	d, err := originalOf(c, e, "documentId")
	if err != nil {
		return pageRequest{}, err
	}
	return newPageRequest(c, e, d, level)
}
