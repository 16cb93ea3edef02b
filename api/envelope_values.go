package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// showValues adds the values entered by signers to the fields in a response.
func showValues(v *envelopeView, e *models.Envelope, values []models.FieldValue) {
	entered := e.EnteredValues(values)
	for i := range v.Fields {
		v.Fields[i].Value = new(entered[v.Fields[i].ID])
	}
}

func hasSigned(s *models.Signer) bool { return s.Status == models.SignerSigned }

// getValues responds with the values entered by signers, by field name.
func (s *envelopeHandler) getValues(c *gin.Context, _ caller, e *models.Envelope) error {
	values, err := s.store.ValuesWithoutPictures(c.Request.Context(), e)
	if err != nil {
		return err
	}
	named := e.NamedValues(values)
	if !prefersCSV(c) {
		return respond(c, http.StatusOK, named)
	}
	rows := [][]string{{"name", "value"}}
	for _, v := range named {
		rows = append(rows, []string{csvCell(v.Name), csvCell(models.Deref(v.Text, v.Picture))})
	}
	return writeCSV(c, rows)
}
