package appearance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLogical checks that words in visual order are reversed, and that numbers and ligatures within them keep their
// order.
func TestLogical(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want string }{
		"on the page":       {"םולש", "שלום"},
		"with a number":     {"12-בא", "אב-12"},
		"left to right":     {"lease", "lease"},
		"mostly not Hebrew": {"lease-א", "lease-א"},
	} {
		var word []character
		for i, r := range []rune(c.given) {
			word = append(word, character{code: r, x0: float64(10 * i), x1: float64(10*i + 9), y1: 10})
		}
		var got strings.Builder
		for _, c := range logical(word) {
			got.WriteRune(c.code)
		}
		assert.Equal(t, c.want, got.String(), name)
	}
	// Letters in logical order, preceded by the colon at their left end.
	colon := logical([]character{{code: ':', x0: 0, x1: 9}, {code: 'א', x0: 20, x1: 29}, {code: 'ב', x0: 10, x1: 19}})
	assert.Equal(t, "אב:", string([]rune{colon[0].code, colon[1].code, colon[2].code}))
	// A ligature of lam and alef, which consists of two characters at the same position.
	word := []character{{code: 'م', x0: 0, x1: 9}, {code: 'ل', x0: 10, x1: 19}, {code: 'ا', x0: 10, x1: 19}, {code: 'س', x0: 20, x1: 29}}
	got := logical(word)
	assert.Equal(t, "سلام", string([]rune{got[0].code, got[1].code, got[2].code, got[3].code}))
}
