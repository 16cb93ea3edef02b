package appearance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func readOrder(line []character) string {
	var s strings.Builder
	for _, c := range logicalOrder(line) {
		s.WriteRune(c.code)
	}
	return s.String()
}

// TestLogicalOrder checks the logical order of lines that are specified in visual order, from left to right.
func TestLogicalOrder(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string]string{
		"םולש":                "שלום",
		"12-בא":               "אב-12",
		"lease-א":             "lease-א",
		"(בא)":                "(אב)",
		"the (בא) lease":      "the (אב) lease",
		"the (דג בא) lease":   "the (אב גד) lease",
		"the בא (דג) lease":   "the (גד) אב lease",
		"the (דג) בא lease":   "the אב (גד) lease",
		".וח (one two) בא":    "אב (one two) חו.",
		".וח one (two) בא":    "אב one (two) חו.",
		".דג (א":              "א) גד.",
		",(דג) בא":            "אב (גד),",
		"«דג» 1,940.50 בא":    "אב 1,940.50 «גד»",
		"the 940 בא 12 lease": "the 940 אב 12 lease",
	} {
		var line []character
		for i, r := range []rune(shown) {
			line = append(line, character{code: r, x0: float64(10 * i), x1: float64(10*i) + 9.9, y1: 10, size: 10})
		}
		assert.Equal(t, want, readOrder(line), shown)
	}
	// The expected text is in logical order, preceded by the colon at its left end.
	assert.Equal(t, "אב:", readOrder([]character{{code: ':', x0: 0, x1: 9, y1: 10, size: 10}, {code: 'א', x0: 20, x1: 29, y1: 10, size: 10}, {code: 'ב', x0: 10, x1: 19, y1: 10, size: 10}}))
	// A ligature of lam and alef consists of two characters in one position.
	assert.Equal(t, "سلام", readOrder([]character{{code: 'م', x0: 0, x1: 9, y1: 10, size: 10}, {code: 'ل', x0: 10, x1: 19, y1: 10, size: 10}, {code: 'ا', x0: 10, x1: 19, y1: 10, size: 10}, {code: 'س', x0: 20, x1: 29, y1: 10, size: 10}}))
}
