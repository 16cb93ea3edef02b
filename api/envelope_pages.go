package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
)

// envelopePage sends an image of a page of an original or sealed document. If the parameter entries is set, the image
// of an original contains the values of all signers who have signed.
func (s *documentHandler) envelopePage(c *gin.Context, _ caller, e *models.Envelope) error {
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	entries, err := readingCopyRequested(c)
	if err != nil {
		return err
	}
	r, err := envelopePageRequest(c, e, level)
	if err != nil {
		return err
	}
	if d := e.Document(r.document.ID); entries && d.Kind == models.DocumentOriginal {
		return s.pages.sendWithValues(c, r)
	}
	return s.pages.send(c, r, nil)
}

func (s *documentHandler) envelopePageText(c *gin.Context, _ caller, e *models.Envelope) error {
	r, err := envelopePageRequest(c, e, models.TextLevel)
	if err != nil {
		return err
	}
	return s.pages.send(c, r, nil)
}

func (s *documentHandler) envelopePageLines(c *gin.Context, _ caller, e *models.Envelope) error {
	r, err := envelopePageRequest(c, e, models.TextLevel)
	if err != nil {
		return err
	}
	return s.pages.sendLines(c, r)
}

func envelopePageRequest(c *gin.Context, e *models.Envelope, level int) (pageRequest, error) {
	d, err := documentInPath(c, e, "documentId")
	if err != nil {
		return pageRequest{}, err
	}
	return newPageRequest(c, e, d, level)
}
