package contrast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/contrast"
)

// TestRatio checks known contrast ratios in either order of the colors.
func TestRatio(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"#000000", "#ffffff", 21},
		{"#ffffff", "#ffffff", 1},
		{"#767676", "#FFFFFF", 4.54},
		{"#777777", "#ffffff", 4.48},
		{"#0f5570", "#ffffff", 8.22},
		{"#ff0000", "#ffffff", 4.00},
		{"#0000ff", "#ffffff", 8.59},
	} {
		a, err := contrast.Parse(tt.a)
		require.NoError(t, err)
		b, err := contrast.Parse(tt.b)
		require.NoError(t, err)
		require.InDelta(t, tt.want, contrast.Ratio(a, b), 0.01, tt.a)
		require.InDelta(t, contrast.Ratio(b, a), contrast.Ratio(a, b), 1e-9)
	}
}

// TestParse checks that only six hexadecimal digits are accepted.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "#", "0f5570", "#0f557", "#0f55700", "#0f557g", "red", "#0f5570;", "#0f5570\n", " #0f5570", "#+f5570"} {
		_, err := contrast.Parse(s)
		require.Error(t, err, "%q", s)
	}
	c, err := contrast.Parse("#0F5570")
	require.NoError(t, err)
	require.Equal(t, "#0f5570", c.String())
}

// TestOn checks that the returned color is legible on every background, and that a legible color is returned
// unchanged.
func TestOn(t *testing.T) {
	t.Parallel()
	for r := 0; r <= 255; r += 15 {
		for g := 0; g <= 255; g += 15 {
			for b := 0; b <= 255; b += 15 {
				c := contrast.Color{float64(r) / 255, float64(g) / 255, float64(b) / 255}
				for _, ground := range []contrast.Color{contrast.White, contrast.Black, contrast.LightPanel, contrast.DarkPanel} {
					on := c.On(ground)
					written, err := contrast.Parse(on.String())
					require.NoError(t, err)
					require.GreaterOrEqual(t, contrast.Ratio(written, ground), contrast.Minimum, "%s on %s", c, ground)
					if contrast.Ratio(c, ground) >= contrast.Minimum {
						require.Equal(t, c.String(), on.String())
					}
				}
			}
		}
	}
}
