package picture

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDarkness_IsThatOfTheDarkestSquare compares the darkness of random pictures with a search of every square of
// cells.
func TestDarkness_IsThatOfTheDarkestSquare(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Point{{1, 1}, {7, 3}, {20, 30}, {300, 40}} {
		img := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range img.Pix {
			img.Pix[i] = byte(r.Uint32())
			if r.IntN(3) == 0 {
				img.Pix[i] = 0
			}
		}
		cell := (max(size.X, size.Y) + 255) / 256
		dark := func(x, y int) int64 {
			if x >= size.X || y >= size.Y {
				return 0
			}
			c := img.NRGBAAt(x, y)
			return (255 - (30*int64(c.R)+59*int64(c.G)+11*int64(c.B))/100) * int64(c.A) / 255
		}
		columns, rows := (size.X+cell-1)/cell, (size.Y+cell-1)/cell
		got := darknessOf(img)
		for _, n := range []int{1, 2, 5, 50} { // cells per side
			w, h := min(n, columns), min(n, rows)
			best := int64(0)
			for top := 0; top+h <= rows; top++ {
				for left := 0; left+w <= columns; left++ {
					sum := int64(0)
					for y := top * cell; y < (top+h)*cell; y++ {
						for x := left * cell; x < (left+w)*cell; x++ {
							sum += dark(x, y)
						}
					}
					best = max(best, sum)
				}
			}
			want := float64(best) / 255 / float64(n*n*cell*cell)
			require.InDelta(t, want, got.max(float64(n*cell)), 1e-9, "%v, %d cells", size, n)
		}
	}
}
