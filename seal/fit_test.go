package seal_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal"
)

// TestText_IsDrawnAtFivePointsOrMore checks that every text that fits its field is drawn within it at 5 points or
// larger, and that any other text would be smaller.
func TestText_IsDrawnAtFivePointsOrMore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	words := []string{"a", "of", "contract", "W", "unbreakable-and-long-word", "漢字", "עברית", "1,234.50", "i", "é\n"}
	fitting := 0
	for range 250 {
		w, h := 4+300*r.Float64()*r.Float64(), 3+80*r.Float64()*r.Float64()
		var all []string
		for range 1 + r.IntN(1+r.IntN(60)) {
			all = append(all, words[r.IntN(len(words))])
		}
		s, wanted := strings.Join(all, " "), []float64{0, 0, 4, 8, 20}[r.IntN(5)]
		fits, err := seal.TextBox{W: w, H: h}.Fits(s)
		require.NoError(t, err)
		lines, size, width, err := seal.FitText(s, w-2, h, wanted)
		require.NoError(t, err)
		assert.Equal(t, fits, size >= 5-1e-6, "%q in %.1f × %.1f is drawn at %.2f", s, w, h, size)
		assert.LessOrEqual(t, width, w-2+1e-6, "%q in %.1f × %.1f", s, w, h)
		assert.LessOrEqual(t, float64(lines)*size*1.2, h+1e-6, "%q in %.1f × %.1f", s, w, h)
		if !fits {
			n, err := seal.TextBox{W: w, H: h}.Length(s)
			require.NoError(t, err)
			short, err := seal.TextBox{W: w, H: h}.Fits(string([]rune(s)[:n]))
			require.NoError(t, err)
			assert.True(t, short || n == 0, "%d characters of %q in %.1f × %.1f", n, s, w, h)
		} else {
			fitting++
		}
	}
	assert.Greater(t, fitting, 50)
	assert.Less(t, fitting, 200)
}

// TestLongText_DoesNotShrinkToAHairline checks that text that would be drawn at 1.4 or 0.29 points is rejected.
func TestLongText_DoesNotShrinkToAHairline(t *testing.T) {
	t.Parallel()
	box := seal.TextBox{W: 150, H: 18}
	for n, want := range map[int]bool{40: true, 150: true, 300: false, 1000: false} {
		fits, err := box.Fits(strings.Repeat("word ", n/5))
		require.NoError(t, err)
		assert.Equal(t, want, fits, "%d characters", n)
	}
	n, err := box.Length(strings.Repeat("word ", 200))
	require.NoError(t, err)
	assert.InDelta(t, 180, n, 30)
	cells := seal.TextBox{W: 100, H: 20, Cells: 10}
	for s, want := range map[string]bool{"0123456789": true, "01234567890": false, "": true} {
		fits, err := cells.Fits(s)
		require.NoError(t, err)
		assert.Equal(t, want, fits, s)
	}
}
