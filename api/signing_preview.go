package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// preview returns the data of the signing page for a recipient of a draft. Nothing is recorded, and no link exists
// that could sign. The pages of the documents come from the routes of the envelope.
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
	return answer(c, http.StatusOK, v)
}
