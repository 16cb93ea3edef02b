package appearance

import (
	"math"

	"countersign/seal/refusal"
)

// Level is a resolution in which a page is rendered: level k has 72·k dots per inch.
type Level int

// Levels lists the valid levels.
var Levels = []Level{1, 2, 4}

// Valid reports whether the level is in Levels.
func (l Level) Valid() bool { return l == 1 || l == 2 || l == 4 }

const (
	// MaxPixels limits a picture: a larger page is scaled down.
	MaxPixels = 12_000_000
	// minScale is the minimum resolution of a picture, in pixels per point: 36 dpi. A lower resolution is illegible.
	minScale = 0.5
	// maxSide limits a side of a page, in points. It is far larger than any page that readers show.
	maxSide = 1e6
)

// Pixels returns the size of the picture of a page of width × height points.
func (l Level) Pixels(width, height float64) (w, h int, err error) {
	if !(width > 0 && height > 0 && width <= maxSide && height <= maxSide) { // also if one is not a number
		return 0, 0, refusal.New(refusal.PageTooLarge, "The page has no displayable size.")
	}
	w, h = pixels(width*float64(l)), pixels(height*float64(l))
	if w*h > MaxPixels {
		scale := math.Sqrt(MaxPixels / (float64(w) * float64(h)))
		if scale*float64(l) < minScale {
			return 0, 0, refusal.New(refusal.PageTooLarge, "The page is too large to display legibly.")
		}
		w, h = max(1, int(float64(w)*scale)), max(1, int(float64(h)*scale))
		for w*h > MaxPixels { // one of the sides is a single pixel
			w, h = max(1, min(w, MaxPixels)), max(1, min(h, MaxPixels/w))
		}
	}
	return w, h, nil
}

// pixels rounds up. PDFium computes in single precision: the result ignores an excess over a whole number within its
// error.
func pixels(side float64) int { return max(1, int(math.Ceil(side-1e-4))) }
