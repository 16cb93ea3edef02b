package api

import (
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

type contextField struct {
	ID         uuid.UUID        `json:"id"`
	DocumentID uuid.UUID        `json:"documentId"`
	Type       models.FieldType `json:"type"`
	positionView
	Required bool `json:"required"`
	fieldExtras
}

// contextFields adds the signer's fields to the signing context. It includes prefilled values and values of earlier
// signers only if the client is confirmed.
func (s *signingHandler) contextFields(c *gin.Context, v *contextView, e *models.Envelope, signer *models.Signer, confirmed bool) error {
	extended := e.Extended()
	for _, f := range e.Fields {
		if f.SignerID != signer.ID {
			continue
		}
		field := contextField{ID: f.ID, DocumentID: f.DocumentID, Type: f.Type, positionView: viewPosition(f), Required: f.Required}
		if extended {
			field.fieldExtras = viewExtras(f)
			field.DefaultValue = ""
			if confirmed {
				field.DefaultValue = f.Prefilled(signer)
			}
		}
		v.Fields = append(v.Fields, field)
	}
	if !confirmed {
		return nil
	}
	var err error
	v.ConditionValues, err = s.conditionValues(c, e, signer.ID)
	return err
}

// conditionValues returns the values of earlier signers to which the conditions of the signer's fields refer. It
// returns nil if there are no such conditions.
func (s *signingHandler) conditionValues(c *gin.Context, e *models.Envelope, signer uuid.UUID) (map[string]string, error) {
	names := e.EarlierNames(signer)
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // no condition refers to values
	}
	values, err := s.store.ValuesWithoutPictures(c.Request.Context(), e)
	if err != nil {
		return nil, err
	}
	return e.ConditionValues(names, values), nil
}
