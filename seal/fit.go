package seal

import (
	"sort"
	"unicode/utf8"

	"countersign/seal/text"
)

// Sizes for text in fields, in points (lineFactor is a ratio).
const (
	maxTextSize = 12.0
	minOneLine  = 8.0 // smaller text is broken into lines
	minTextSize = 5.0 // minimum size of a signer's text
	lineFactor  = 1.2
	textInset   = 1.0 // distance from the left and right edges of the field
)

// wrapper breaks a string into lines of a width in thousandths of an em. It returns at most limit lines, or all lines
// if limit is 0.
type wrapper func(style text.Style, s string, width float64, limit int) ([]text.Line, error)

// fitText breaks a string into lines for a box. It uses one line if the text is then legible, and otherwise the number
// of lines that allows the largest size. The argument wanted is the size to use if the text fits; 0 selects the largest
// size that fits, up to maxTextSize. Text that does not fit at minTextSize is shrunk further, so that it is never
// truncated. TextBox.Fits rejects such text for values entered by signers, so only values set by the service can be
// this small.
func fitText(wrap wrapper, s string, w, h, wanted float64) ([]text.Line, float64, error) {
	one, err := wrap(text.Sans, s, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	largest := maxTextSize
	if wanted > 0 {
		largest = max(wanted, minTextSize)
	}
	size := min(largest, sizeOf(one, w, h))
	if size >= min(largest, minOneLine) {
		return one, size, nil
	}
	for try := min(largest, h/lineFactor); try > size && try >= minTextSize; try = nextSize(try) {
		lines, err := wrap(text.Sans, s, w/try*1000, 0)
		if err != nil {
			return nil, 0, err
		}
		if sizeOf(lines, w, h) >= try-tolerance {
			return lines, try, nil
		}
	}
	if size >= minTextSize {
		return one, size, nil
	}
	lines, err := wrap(text.Sans, s, w/minTextSize*1000, 0)
	if err != nil {
		return nil, 0, err
	}
	if small := sizeOf(lines, w, h); small > size {
		return lines, small, nil
	}
	return one, size, nil
}

// tolerance is the difference between sizes that rounding can cause, in points.
const tolerance = 1e-6

// nextSize returns the next smaller size to try, down to minTextSize. After that it returns 0.
func nextSize(size float64) float64 {
	if size > minTextSize {
		return max(size-0.5, minTextSize)
	}
	return 0
}

// sizeOf returns the largest size at which lines fit into a box.
func sizeOf(lines []text.Line, w, h float64) float64 {
	widest := 1.0
	for _, l := range lines {
		widest = max(widest, l.Width)
	}
	return min(h/lineFactor/float64(max(len(lines), 1)), w/widest*1000)
}

// TextBox is the size of a field that contains text.
type TextBox struct {
	W, H  float64 // points
	Cells int     // number of one-character cells; 0 if the field has none
}

// Fits reports whether a string fits into the field at minTextSize or larger. The bundled fonts must contain all of its
// characters.
func (b TextBox) Fits(s string) (bool, error) {
	if b.Cells > 0 {
		return b.fitsCells(s)
	}
	w := b.W - 2*textInset
	lines, err := library().Wrap(text.Sans, s, max(w, 0.1)/minTextSize*1000, 0)
	if err != nil {
		return false, err
	}
	return sizeOf(lines, w, b.H) >= minTextSize-tolerance, nil
}

func (b TextBox) fitsCells(s string) (bool, error) {
	letters := graphemes(s)
	if len(letters) > b.Cells || b.H < minTextSize*lineFactor-tolerance {
		return false, nil
	}
	for _, letter := range letters {
		lines, err := library().Wrap(text.Sans, letter, 0, 0)
		if err != nil {
			return false, err
		}
		if sizeOf(lines, b.W/float64(b.Cells), b.H) < minTextSize-tolerance {
			return false, nil
		}
	}
	return true, nil
}

// Length returns the number of leading characters of a string that fit into the field. The bundled fonts must contain
// all of these characters.
func (b TextBox) Length(s string) (int, error) {
	var ends []int // end offset of each character
	for i, r := range s {
		ends = append(ends, i+utf8.RuneLen(r))
	}
	var failed error
	n := sort.Search(len(ends), func(i int) bool {
		ok, err := b.Fits(s[:ends[i]])
		if err != nil {
			failed = err
		}
		return !ok
	})
	return n, failed
}
