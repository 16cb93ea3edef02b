package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// remindSigner emails a reminder to a signer. The signing link does not change.
func (s *envelopeHandler) remindSigner(c *gin.Context, app caller) error {
	return change(s, c, app, nil, func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		return e.Remind(act, checkedID(c, "signerId"))
	}, asJSON(http.StatusAccepted, viewSigner))
}
