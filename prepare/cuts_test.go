package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare/revision1"
)

// TestCutsOfUses checks that a form stays unchanged and is cloned if different glyphs are removed from its uses. Uses
// that lose the same glyphs share a clone.
func TestCutsOfUses(t *testing.T) {
	t.Parallel()
	form := pdf.Ref{Num: 6}
	uses := []pagetext.Use{{}, {Form: form, At: 40}, {Form: form, At: 60}, {Form: form, At: 80}}
	at := func(use int, advance float64) []pagetext.Position {
		return []pagetext.Position{{Use: use, Start: 1, Length: 1, Advance: advance}}
	}
	tag := func(page int, glyphs []pagetext.Position) FoundTag {
		return FoundTag{Text: "{{a}}", Place: Position{Page: page}, Glyphs: glyphs, uses: uses}
	}
	got, err := cuts(foundTags{tags: []FoundTag{tag(1, at(1, 500)), tag(1, at(2, 600)), tag(2, at(1, 500))}, painted: map[pdf.Ref]int{form: 6}})
	require.NoError(t, err)
	require.Equal(t, []revision1.Cut{
		{Page: 1, Tags: 2, Uses: [][2]int{{40, 2}, {60, 1}}},
		{Page: 2, Tags: 1, Uses: [][2]int{{40, 2}}},
		{Form: 6, Clone: 1, Codes: [][4]float64{{1, 0, 1, 600}}},
		{Form: 6, Clone: 2, Codes: [][4]float64{{1, 0, 1, 500}}},
	}, got)
	got, err = cuts(foundTags{tags: []FoundTag{tag(1, at(1, 500)), tag(2, at(1, 500))}, painted: map[pdf.Ref]int{form: 2}})
	require.NoError(t, err)
	require.Equal(t, []revision1.Cut{{Page: 1, Tags: 1}, {Page: 2, Tags: 1}, {Form: 6, Codes: [][4]float64{{1, 0, 1, 500}}}}, got)
}

// TestCutsReject checks that an error with the tag is returned if annotations that share an appearance lose different
// glyphs.
func TestCutsReject(t *testing.T) {
	t.Parallel()
	form := pdf.Ref{Num: 6}
	_, err := cuts(foundTags{tags: []FoundTag{{
		Text: "{{a}}", Place: Position{Page: 2}, Glyphs: []pagetext.Position{{Use: 1, Start: 1, Length: 1}},
		uses: []pagetext.Use{{}, {Form: form, At: -1}},
	}}, painted: map[pdf.Ref]int{form: 2}})
	require.ErrorIs(t, err, errFormUses)
	require.ErrorContains(t, err, `"{{a}}" on page 2`)
}

// TestCutsJoinCodes checks that consecutive codes in a string form a single run.
func TestCutsJoinCodes(t *testing.T) {
	t.Parallel()
	at := func(start, code int) pagetext.Position {
		return pagetext.Position{Start: start, Code: code, Length: 2, Advance: 250.5}
	}
	got, err := cuts(foundTags{tags: []FoundTag{{Text: "{{a}}", Place: Position{Page: 3}, Glyphs: []pagetext.Position{at(40, 0), at(9, 4), at(9, 2), at(9, 8)}}}})
	require.NoError(t, err)
	require.Equal(t, []revision1.Cut{{Page: 3, Tags: 1, Codes: [][4]float64{{9, 2, 4, 501}, {9, 8, 2, 250.5}, {40, 0, 2, 250.5}}}}, got)
}
