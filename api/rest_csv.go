package api

import (
	"encoding/csv"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
)

// prefersCSV reports whether the client prefers CSV to JSON.
func prefersCSV(c *gin.Context) bool {
	c.Header("Vary", "Accept")
	return c.NegotiateFormat("application/json", "text/csv") == "text/csv"
}

// writeCSV responds with a table as CSV. The first row contains the column names.
func writeCSV(c *gin.Context, rows [][]string) error {
	c.Header("Content-Type", "text/csv; charset=utf-8; header=present")
	w := csv.NewWriter(c.Writer)
	w.UseCRLF = true // RFC 4180
	return w.WriteAll(rows)
}

// csvCell returns text as a cell that no spreadsheet interprets as a formula.
func csvCell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || !strings.ContainsRune("=@\t\r\n+-＝＠＋－", first) || signedNumber.MatchString(text) { // the Japanese version of Excel also accepts full-width signs
		return text
	}
	return "'" + text
}

// signedNumber matches a cell that consists of a sign and digits. A spreadsheet can safely evaluate such a cell.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+$`)
