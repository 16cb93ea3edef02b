package seal

import (
	"sort"
	"unicode/utf8"

	"countersign/seal/text"
)

// Sizes of text in fields, in points.
const (
	maxTextSize = 12.0
	minOneLine  = 8.0 // below it, a text is broken into lines
	minTextSize = 5.0 // minimum size of a signer's entry
	lineFactor  = 1.2
	textInset   = 1.0 // from the left and right edges of the field
)

// wrapper breaks a text into lines of a width in thousandths of an em, at most limit (0: any number).
type wrapper func(style text.Style, s string, width float64, limit int) ([]text.Line, error)

// fitText breaks a text into lines for a box: one line if it is legible, otherwise the number of lines that allows the
// largest size. wanted is the size to use if the text fits; 0 selects the largest that fits, up to maxTextSize. A text
// that does not fit at minTextSize shrinks further, so that none of it is cut: TextFits rejects such a text unless the
// service set it.
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

// tolerance is the permitted difference between sizes because of rounding, in points.
const tolerance = 1e-6

// nextSize returns the next smaller size that is tried; the last one is
// minTextSize.
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

// TextBox is a field that holds text, as the seal draws it.
type TextBox struct {
	W, H  float64 // points
	Cells int     // of one character each; 0: no cells
}

// Fits reports whether a text that the bundled fonts can draw fits into the field at minTextSize or more.
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

// Length returns how many characters of a text fit into the field, all of which the bundled fonts can draw.
func (b TextBox) Length(s string) (int, error) {
	var ends []int // of the characters
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
