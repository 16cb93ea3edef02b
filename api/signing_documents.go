package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// readableEnvelope returns the envelope of a link if the signer may currently read it.
func (s *signingHandler) readableEnvelope(c *gin.Context, l signerLink) (*models.Envelope, error) {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return nil, err
	}
	_, err = e.Reader(l.Link, s.now(), false)
	return e, err
}

// readEnvelope returns the envelope of a link if the client may read its documents. If the parameter entries is set,
// the client must be confirmed, because the response will contain values of signers.
func (s *signingHandler) readEnvelope(c *gin.Context, l signerLink, entries bool) (*models.Envelope, error) {
	if entries || s.codeBeforeReading {
		return s.confirmedReading(c, l)
	}
	return s.readableEnvelope(c, l)
}

// sendToSigner streams a document, optionally with the values of signers who have signed.
func (s *signingHandler) sendToSigner(c *gin.Context, l signerLink, find func(*models.Envelope) (*models.Document, error)) error {
	entries, err := readingCopyRequested(c)
	if err != nil {
		return err
	}
	e, err := s.readEnvelope(c, l, entries)
	if err != nil {
		return err
	}
	d, err := find(e)
	if err != nil {
		return err
	}
	if entries {
		return s.sendReadingCopy(c, e, d)
	}
	return s.sendFile(c, e, d.Presented(), "inline")
}

func (s *signingHandler) signingDocument(c *gin.Context, l signerLink) error {
	return s.sendToSigner(c, l, func(e *models.Envelope) (*models.Document, error) { return e.Originals()[0], nil })
}

func (s *signingHandler) signingDocuments(c *gin.Context, l signerLink) error {
	e, err := s.readableEnvelope(c, l)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, contextDocs(e))
}

func (s *signingHandler) signingDocumentByID(c *gin.Context, l signerLink) error {
	return s.sendToSigner(c, l, func(e *models.Envelope) (*models.Document, error) {
		return originalOf(c, e, "docId")
	})
}
