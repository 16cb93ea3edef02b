package appearance

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tetratelabs/wazero/api"
)

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko) && unicode.IsLetter(r)
}

// mirror returns the counterpart of a bracket or quotation mark, or the character itself.
func mirror(r rune) rune {
	if i := slices.Index(brackets, r); i >= 0 {
		return brackets[i^1]
	}
	return r
}

var brackets = []rune("()[]{}«»‹›") //nolint:gochecknoglobals // a constant

// cluster is a letter with its marks, or a ligature.
type cluster struct {
	characters []character
	along      float64 // position in the direction of writing
	level      int     // level of the bidirectional algorithm (Unicode Standard Annex 9)
	index      int     // in PDFium's order
	spaced     bool    // PDFium returned a space after it
}

func (c cluster) code() rune { return c.characters[0].code }

// strong returns the level of a letter, or -1 for any other character.
func (c cluster) strong(left int) int {
	switch {
	case isRightToLeft(c.code()):
		return 1
	case unicode.IsLetter(c.code()):
		return left
	}
	return -1
}

// logical returns the characters of one of PDFium's lines in logical order.
func (r *textReader) logical(line []character) []character {
	if !hasRightToLeft(line) {
		return line
	}
	for i := range line {
		line[i].size *= api.DecodeF64(r.d.call("FPDFText_GetFontSize", r.text, line[i].index))
	}
	return logicalOrder(line)
}

func hasRightToLeft(line []character) bool {
	return slices.ContainsFunc(line, func(c character) bool { return isRightToLeft(c.code) })
}

// logicalOrder returns the characters of a line with right-to-left letters in logical order. If the line has both
// directions, PDFium rearranges spaces, punctuation and the words of right-to-left phrases, and replaces some brackets
// with their counterparts. logicalOrder therefore uses only the characters' positions. The line has the direction of
// most of its parts or, if both directions have equally many parts, the direction of most of its letters.
func logicalOrder(line []character) []character {
	all := clusters(line)
	rightToLeft, leftToRight := 0, 0 // letters
	parts, before := 0, -1           // number of right-to-left parts minus number of left-to-right parts
	for _, c := range all {
		strong := c.strong(0)
		switch strong {
		case -1:
			continue
		case 1:
			rightToLeft++
		default:
			leftToRight++
		}
		if strong != before {
			parts, before = parts+2*strong-1, strong
		}
	}
	base, left := 0, 0
	if parts > 0 || parts == 0 && rightToLeft >= leftToRight {
		base, left = 1, 2
	}
	setShapes(all)
	setLevels(all, base, left)
	// The following reversals undo rule L2 of UAX #9.
	for level := 2; level > 0; level-- {
		for from := 0; from < len(all); from++ {
			to := from
			for to < len(all) && all[to].level >= level {
				to++
			}
			slices.Reverse(all[from:to])
			from = max(from, to-1)
		}
	}
	var out []character
	for _, c := range all {
		if c.level == 1 {
			c.characters[0].code = mirror(c.code())
		}
		out = append(out, c.characters...)
	}
	return out
}

// Minimum gaps between words, as a fraction of the font size. The first applies where PDFium has inserted a space, and
// the second elsewhere.
const (
	spaceGap = 0.06
	wordGap  = 0.18
)

// clusters returns the clusters of a line in visual order, with a space in each gap.
func clusters(line []character) (out []cluster) {
	sin, cos := math.Sincos(line[slices.IndexFunc(line, func(c character) bool { return isRightToLeft(c.code) })].angle * math.Pi / 180)
	var all []cluster
	for _, c := range line {
		n := len(all)
		if unicode.IsSpace(c.code) {
			if n > 0 {
				all[n-1].spaced = true
			}
			continue
		}
		along := (float64((c.x0+c.x1)*cos) + float64((c.y0+c.y1)*sin)) / 2
		if n > 0 && (unicode.Is(unicode.Mn, c.code) || along == all[n-1].along) {
			all[n-1].characters = append(all[n-1].characters, c)
		} else {
			all = append(all, cluster{characters: []character{c}, along: along, index: n})
		}
	}
	slices.SortStableFunc(all, func(a, b cluster) int { return sign(a.along - b.along) })
	for i, c := range all {
		if i > 0 {
			before := all[i-1]
			a, b := before.characters[0], c.characters[0]
			gap := (c.along - before.along - (a.extent(sin, cos)+b.extent(sin, cos))/2) / max(a.size, b.size)
			if gap > wordGap || gap > spaceGap && (before.spaced && c.index == before.index+1 || c.spaced && before.index == c.index+1) {
				out = append(out, cluster{characters: []character{{code: ' '}}})
			}
		}
		out = append(out, c)
	}
	return out
}

// setShapes sets the codes of brackets in visual order according to their shapes. A bracket at the beginning of a word
// opens to the right. Within a word, opening and closing brackets alternate.
func setShapes(all []cluster) {
	isGap := func(i int) bool { return i < 0 || i >= len(all) || all[i].code() == ' ' }
	opened := make(map[int]bool) // by kind of bracket
	for i := range all {
		at := slices.Index(brackets, all[i].code())
		if at < 0 {
			continue
		}
		kind := at / 2
		begins := isGap(i-1) || slices.Index(brackets, all[i-1].code())%2 == 0
		ends := isGap(i + 1)
		opens := begins && !ends || begins == ends && !opened[kind]
		opened[kind] = opens
		if opens == (at%2 == 1) {
			all[i].characters[0].code = mirror(all[i].code())
		}
	}
}

// setLevels sets the levels of the clusters of a line, which are in visual order. The argument base is the level of the
// line, and left is the level of its left-to-right letters.
func setLevels(all []cluster, base, left int) {
	for i := range all {
		all[i].level = base
	}
	other := left // level of letters whose direction is opposite to that of the line
	if base == 0 {
		other = 1
	}
	for from := 0; from < len(all); from++ {
		if all[from].strong(left) != other {
			continue
		}
		to := from + 1
		for i := to; i < len(all) && all[i].strong(left) != base; i++ {
			if all[i].strong(left) == other || other == 2 && unicode.IsDigit(all[i].code()) {
				to = i + 1
			}
		}
		first, end := withBrackets(all, from, to)
		for i := first; i < end; i++ {
			all[i].level = other
		}
		from = end - 1
	}
	// Numbers are written from left to right.
	for from := 0; from < len(all); from++ {
		to := from
		for to < len(all) && all[to].level == 1 && (unicode.IsDigit(all[to].code()) || to > from && isSeparator(all, to)) {
			to++
		}
		for i := from; i < to; i++ {
			all[i].level = 2
		}
		from = max(from, to-1)
	}
}

// isSeparator reports whether a cluster separates two digits of a number.
func isSeparator(all []cluster, i int) bool {
	return strings.ContainsRune(".,:/", all[i].code()) && i+1 < len(all) && unicode.IsDigit(all[i-1].code()) && unicode.IsDigit(all[i+1].code())
}

// withBrackets extends a part of a line by the adjacent brackets that match unmatched brackets in the part.
func withBrackets(all []cluster, from, to int) (first, end int) {
	for {
		var open []rune // unmatched brackets
		for _, c := range all[from:to] {
			if i := slices.Index(brackets, c.code()); i < 0 {
				continue
			} else if n := len(open); i%2 == 1 && n > 0 && open[n-1] == brackets[i-1] {
				open = open[:n-1]
			} else {
				open = append(open, c.code())
			}
		}
		n := len(open)
		switch {
		case n == 0:
			return from, to
		case to < len(all) && slices.Index(brackets, open[n-1])%2 == 0 && all[to].code() == mirror(open[n-1]):
			to++
		case from > 0 && slices.Index(brackets, open[0])%2 == 1 && all[from-1].code() == mirror(open[0]):
			from--
		default:
			return from, to
		}
	}
}
