package api

import (
	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

// duplicateEnvelope creates a draft with the documents, recipients and fields of an existing envelope.
func (s *envelopeHandler) duplicateEnvelope(c *gin.Context, app caller, o *object) error {
	by, documents := createdBy(o, app.ID.String()), s.store.PlanLimits(app.Plan).Documents
	made, err := execute(s.subject, c, func(st envelopeStore) (*store.EnvelopeWithEvents, error) {
		return st.Duplicate(c.Request.Context(), app.ID, checkedID(c, "id"), func(e *models.Envelope) (own *models.Envelope, err error) {
			err = s.checkedChange(c, app, o.err(), func(e *models.Envelope, act models.ActionContext) error {
				own, err = e.Duplicate(act, by, documents)
				return err
			})(e)
			return own, err
		})
	}, s.viewCreated(false))
	if err == nil {
		tagEnvelope(c, made.ID)
	}
	return err
}
