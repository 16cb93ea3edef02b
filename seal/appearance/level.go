package appearance

import (
	"math"

	"countersign/seal/rejection"
)

// Level is the resolution at which a page is rendered. Level k means 72·k dots per inch.
type Level int

// Levels lists the valid levels.
var Levels = []Level{1, 2, 4}

// Valid reports whether the level is in Levels.
func (l Level) Valid() bool { return l == 1 || l == 2 || l == 4 }

const (
	// MaxPixels is the maximum size of a picture. A larger page is scaled down.
	MaxPixels = 12_000_000
	// minScale is the minimum resolution of a picture, in pixels per point. It equals 36 dpi. A lower resolution is
	// illegible.
	minScale = 0.5
	// maxSide is the maximum side length of a page, in points. It is much larger than any page that PDF readers
	// display.
	maxSide = 1e6
)

// Pixels returns the dimensions of the picture of a page with the given width and height in points.
func (l Level) Pixels(width, height float64) (w, h int, err error) {
	if !(width > 0 && height > 0 && width <= maxSide && height <= maxSide) { // also rejects NaN
		return 0, 0, rejection.New(rejection.PageTooLarge, "The page has no displayable size.")
	}
	w, h = pixels(width*float64(l)), pixels(height*float64(l))
	if w*h > MaxPixels {
		scale := math.Sqrt(MaxPixels / (float64(w) * float64(h)))
		if scale*float64(l) < minScale {
			return 0, 0, rejection.New(rejection.PageTooLarge, "The page is too large to display legibly.")
		}
		w, h = max(1, int(float64(w)*scale)), max(1, int(float64(h)*scale))
		for w*h > MaxPixels { // possible only if one side was rounded up to a single pixel
			w, h = max(1, min(w, MaxPixels)), max(1, min(h, MaxPixels/w))
		}
	}
	return w, h, nil
}

// pixels rounds a length up to whole pixels. It ignores an excess that is within the error of PDFium's single-precision
// arithmetic.
func pixels(side float64) int { return max(1, int(math.Ceil(side-1e-4))) }
