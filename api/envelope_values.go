package api

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// showValues puts what signers entered into the fields of an answer.
func showValues(v *envelopeView, e *models.Envelope, values []models.FieldValue) {
	entered := e.EnteredValues(values)
	for i := range v.Fields {
		v.Fields[i].Value = new(entered[v.Fields[i].ID])
	}
}

func hasSigned(s *models.Signer) bool { return s.Status == models.SignerSigned }

// getValues answers what signers entered, by the names of the fields.
func (s *Server) getValues(c *gin.Context, _ caller, e *models.Envelope) error {
	values, err := s.Store.ValuesWithoutPictures(c.Request.Context(), e)
	if err != nil {
		return err
	}
	named := e.NamedValues(values)
	if !wantsCSV(c) {
		return answer(c, http.StatusOK, named)
	}
	rows := [][]string{{"name", "value"}}
	for _, v := range named {
		rows = append(rows, []string{csvCell(v.Name), csvCell(models.Deref(v.Text, v.Picture))})
	}
	return writeCSV(c, rows)
}

// wantsCSV reports whether the client prefers a table to JSON.
func wantsCSV(c *gin.Context) bool {
	c.Header("Vary", "Accept")
	return c.NegotiateFormat("application/json", "text/csv") == "text/csv"
}

// writeCSV answers with a table, whose first row has the names of the columns.
func writeCSV(c *gin.Context, rows [][]string) error {
	c.Header("Content-Type", "text/csv; charset=utf-8; header=present")
	c.Status(http.StatusOK)
	w := csv.NewWriter(c.Writer)
	w.UseCRLF = true // RFC 4180
	return w.WriteAll(rows)
}

// signedNumber is a cell of a sign and digits, which a spreadsheet may compute.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+$`)

// csvCell makes a text a cell that no spreadsheet takes for a formula.
func csvCell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || !strings.ContainsRune("=@\t\r\n+-＝＠＋－", first) || signedNumber.MatchString(text) { // full-width signs count in Japanese Excel
		return text
	}
	return "'" + text
}
