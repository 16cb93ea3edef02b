package api

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// showValues puts what signers entered into the fields of an answer.
func (s *Server) showValues(c *gin.Context, v *envelopeView, e *models.Envelope) error {
	entered := map[string]models.EnteredValue{}
	if anySigned(e) {
		values, err := s.Store.ValuesWithoutPictures(c.Request.Context(), e)
		if err != nil {
			return err
		}
		for id, value := range e.EnteredValues(values) {
			entered[id.String()] = value
		}
	}
	for i := range v.Fields {
		value := entered[v.Fields[i].ID.String()]
		v.Fields[i].Value = &value
	}
	return nil
}

func anySigned(e *models.Envelope) bool {
	for _, s := range e.Signers {
		if s.Status == models.SignerSigned {
			return true
		}
	}
	return false
}

// getValues answers what signers entered, by the names of the fields.
func (s *Server) getValues(c *gin.Context, app caller) error {
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	values, err := s.Store.ValuesWithoutPictures(c.Request.Context(), e)
	if err != nil {
		return err
	}
	named := e.NamedValues(values)
	c.Header("Vary", "Accept")
	if c.NegotiateFormat("application/json", "text/csv") != "text/csv" {
		c.JSON(http.StatusOK, named)
		return nil
	}
	c.Header("Content-Type", "text/csv; charset=utf-8; header=present")
	c.Status(http.StatusOK)
	w := csv.NewWriter(c.Writer)
	w.UseCRLF = true // RFC 4180
	rows := [][]string{{"name", "value"}}
	for _, v := range named {
		text := v.Picture
		if v.Text != nil {
			text = *v.Text
		}
		rows = append(rows, []string{csvCell(v.Name), csvCell(text)})
	}
	return w.WriteAll(rows)
}

// signedNumber is a cell of a sign and digits, which a spreadsheet may compute.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+$`)

// csvCell makes a text a cell that no spreadsheet takes for a formula.
func csvCell(text string) string {
	if text == "" || !strings.ContainsRune("=@\t\r+-", rune(text[0])) || signedNumber.MatchString(text) {
		return text
	}
	return "'" + text
}
