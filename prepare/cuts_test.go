package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare/pagetext"
	"countersign/prepare/revision1"
	"countersign/seal/pdf"
)

// TestCutsRefuse: a form that sets a tag in two ways is an error that prints it.
func TestCutsRefuse(t *testing.T) {
	t.Parallel()
	at := pagetext.Position{Form: pdf.Ref{Num: 6}, Start: 1, End: 9, Length: 1, Advance: 500}
	other := at
	other.Advance = 600
	_, err := cuts([]FoundTag{
		{Text: "{{a}}", Place: Place{Page: 1}, Glyphs: []pagetext.Position{at}},
		{Text: "{{a}}", Place: Place{Page: 2}, Glyphs: []pagetext.Position{other}},
	})
	require.ErrorIs(t, err, ErrFormUses)
	require.ErrorContains(t, err, `"{{a}}" on page 2`)
}

// TestCutsJoinCodes: codes that follow one another in a string are one run.
func TestCutsJoinCodes(t *testing.T) {
	t.Parallel()
	at := func(start, code int) pagetext.Position {
		return pagetext.Position{Start: start, End: start + 20, Code: code, Length: 2, Advance: 250.5}
	}
	got, err := cuts([]FoundTag{{Text: "{{a}}", Place: Place{Page: 3}, Glyphs: []pagetext.Position{at(40, 0), at(9, 4), at(9, 2), at(9, 8)}}})
	require.NoError(t, err)
	require.Equal(t, []revision1.Cut{{Page: 3, Tags: 1, Codes: [][4]float64{{9, 2, 4, 501}, {9, 8, 2, 250.5}, {40, 0, 2, 250.5}}}}, got)
}
