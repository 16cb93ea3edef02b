package api

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
)

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

// csvCell makes a text a cell that no spreadsheet takes for a formula.
func csvCell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || !strings.ContainsRune("=@\t\r\n+-＝＠＋－", first) || signedNumber.MatchString(text) { // full-width signs count in Japanese Excel
		return text
	}
	return "'" + text
}

// signedNumber is a cell of a sign and digits, which a spreadsheet may compute.
var signedNumber = regexp.MustCompile(`^[+-][0-9]+$`)
