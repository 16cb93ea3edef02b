package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// preview responds with the data for the signing page as a recipient of a draft would see it. It records nothing, and
// creates no link that could be used for signing. The preview loads document pages from the routes of the envelope.
func (s *signingHandler) preview(c *gin.Context, app caller, e *models.Envelope) error {
	if err := checkLanguage(c); err != nil {
		return err
	}
	id, err := pathID(c, "signerId")
	if err != nil {
		return err
	}
	signer, err := e.PreviewSigner(id)
	if err != nil {
		return err
	}
	chosen, err := s.senderSettings(c, app.ID, e)
	if err != nil {
		return err
	}
	v, err := s.viewContext(c, chosen, e, signer, true)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, v)
}
