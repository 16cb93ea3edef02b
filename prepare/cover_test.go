package prepare_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
)

// TestCovered checks that a place covers text if at least five letters or digits are mostly within the place. A
// signature line, an adjacent label, or a line that the place only touches does not count.
func TestCovered(t *testing.T) {
	t.Parallel()
	const clause = "BT /F1 10 Tf 100 700 Td (The tenant pays 900 a month.) Tj 0 -14 Td (The rent is due on the first day.) Tj ET " // the tops of the lines are at y = 92 and 106
	line := "BT /F1 10 Tf 100 400 Td (Signature: " + strings.Repeat("_", 20) + ") Tj 100 -40 Td (" + strings.Repeat(". ", 30) + ") Tj 0 -12 Td (Landlord) Tj ET"
	for name, c := range map[string]struct {
		content string
		place   prepare.Position
		covers  bool
	}{
		"two lines":                {clause, prepare.Position{Page: 1, X: 90, Y: 85, W: 200, H: 60}, true},
		"one line of them":         {clause, prepare.Position{Page: 1, X: 90, Y: 103, W: 200, H: 60}, true},
		"five letters":             {clause, prepare.Position{Page: 1, X: 95, Y: 90, W: 36, H: 12}, true},
		"half the height":          {clause, prepare.Position{Page: 1, X: 90, Y: 112, W: 200, H: 40}, false},
		"beside":                   {clause, prepare.Position{Page: 1, X: 300, Y: 85, W: 160, H: 60}, false},
		"its first letters":        {clause, prepare.Position{Page: 1, X: 20, Y: 85, W: 92, H: 14}, false},
		"on a line":                {line, prepare.Position{Page: 1, X: 150, Y: 370, W: 160, H: 40}, false},
		"on dots, above the label": {line, prepare.Position{Page: 1, X: 200, Y: 405, W: 160, H: 40}, false},
		"on the label":             {line, prepare.Position{Page: 1, X: 195, Y: 430, W: 160, H: 40}, true},
		"on another page":          {clause, prepare.Position{Page: 2, X: 90, Y: 85, W: 200, H: 60}, false},
		"on no page":               {clause, prepare.Position{Page: 9, X: 90, Y: 85, W: 200, H: 60}, false},
		"invisible":                {"3 Tr " + clause, prepare.Position{Page: 1, X: 90, Y: 85, W: 200, H: 60}, false},
		"a scan with its text":     {"q 600 0 0 800 0 0 cm /I Do Q 3 Tr " + clause, prepare.Position{Page: 1, X: 90, Y: 85, W: 200, H: 60}, true},
		"a scan without":           {"q 600 0 0 800 0 0 cm /I Do Q", prepare.Position{Page: 1, X: 90, Y: 85, W: 200, H: 60}, false},
		"no text":                  {"", prepare.Position{Page: 1, X: 0, Y: 0, W: 600, H: 800}, false},
	} {
		covered, err := prepare.Covered(t.Context(), document(t, c.content, ""), []prepare.Position{{Page: 2, X: 1, Y: 1, W: 10, H: 10}, c.place})
		require.NoError(t, err, name)
		require.Equal(t, []bool{false, c.covers}, covered, name)
	}
}

// TestCoveredIsBounded checks that only the first twenty pages with places are examined, that reading ends with the
// last of them, and that a canceled context stops the search.
func TestCoveredIsBounded(t *testing.T) {
	t.Parallel()
	var pages []string
	var places []prepare.Position
	for i := range 30 {
		pages = append(pages, fmt.Sprintf("BT /F1 10 Tf 100 700 Td (Clause number %d) Tj ET", i+1))
		places = append(places, prepare.Position{Page: i + 1, X: 90, Y: 85, W: 200, H: 40})
	}
	covered, err := prepare.Covered(t.Context(), document(t, pages...), places)
	require.NoError(t, err)
	for i, c := range covered {
		require.Equal(t, i < 20, c, "page %d", i+1)
	}
	covered, err = prepare.Covered(t.Context(), document(t, pages...), places[29:])
	require.NoError(t, err)
	require.Equal(t, []bool{true}, covered, "pages without fields are ignored")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = prepare.Covered(ended, document(t, pages...), places[29:])
	require.ErrorIs(t, err, context.Canceled)
}
