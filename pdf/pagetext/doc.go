// Package pagetext reads the text of a page as a reader sees it: every glyph with its Unicode text, its box, and its
// place in the content.
//
// It supports text operators, fonts, form XObjects, inherited resources, layers, rotation, crop box, and the
// appearances of annotations, except widgets, which belong to a form. Section numbers refer to ISO 32000-2:2020.
// Operators, nesting, glyphs, and the entries of fonts and CMaps are limited. All boxes are in points from the top
// left corner of the displayed page, y pointing down, as in the HTTP interface.
package pagetext

import (
	"errors"

	"countersign/pdf"
)

// ErrLimit is wrapped by errors about a page with more text, operators or forms
// than are read.
var ErrLimit = errors.New("pagetext: page exceeds the limits")

const (
	maxGlyphs    = 200_000   // of a page
	maxOperators = 2_000_000 // of a page, including its forms
	maxForms     = 12        // nested
	maxSaved     = 512       // q without Q
	maxOperands  = 512
	maxContent   = 32 << 20       // decoded bytes of a page, including its forms
	maxFonts     = 256            // that are kept
	maxCMap      = 1 << 17        // entries of one CMap
	maxSpaces    = 256            // codespace ranges of one; real ones have less than ten
	maxCodes     = 10 * maxGlyphs // of a page, those that are not shown included
)

// Box is a rectangle in points from the top left corner of the page as shown.
type Box struct{ X, Y, W, H float64 }

// Union returns the smallest box around both; an empty one counts for nothing.
func (b Box) Union(c Box) Box {
	switch {
	case b == Box{}:
		return c
	case c == Box{}:
		return b
	}
	x, y := min(b.X, c.X), min(b.Y, c.Y)
	return Box{x, y, max(b.X+b.W, c.X+c.W) - x, max(b.Y+b.H, c.Y+c.H) - y}
}

// Position says where a glyph's code stands in content.
type Position struct {
	// Use is the painting of the form whose content it is: an index into Page.Uses, 0 for
	// the page's own content.
	Use int
	// Start is where the string operand begins in the decoded content. The streams of a
	// page are joined with a line feed between two.
	Start int
	// Code and Length delimit the character code in what the string holds.
	Code, Length int
	// Advance is how far the code moves on, in thousandths of the font's size, as
	// numbers in the operand of TJ are, but without their minus.
	Advance float64
}

// Use is one painting of a form XObject, by Do or as the appearance of an annotation.
type Use struct {
	Form   pdf.Ref
	Parent int // the use whose content paints it
	// At is where the name stands in the decoded content that paints it, -1 for an appearance.
	At int
	// Annotation is the annotation of an appearance; zero if the annotation is a direct object.
	Annotation pdf.Ref
}

// Glyph is the glyph of one character code of a text operator.
type Glyph struct {
	// Text is its Unicode in NFKD: none (a glyph that is only the rest of what the one
	// before says), one character, several (a ligature), or U+FFFD where it is not known.
	Text string
	Box  Box
	// Size is the size of the font in points, as shown.
	Size float64
	// Angle is the direction of writing: 0 to the right, 90 down, 180, 270 up.
	Angle int
	// Invisible reports that it is not painted (text rendering mode 3 or 7, 9.3.6).
	Invisible bool
	Position  Position

	along, across float64 // of the origin: in the direction of writing, and of its lines
	end           float64 // like along
}

// Page is the text of a page.
type Page struct {
	Index         int // from 0
	Width, Height float64
	// Glyphs stand in the order of the content.
	Glyphs []Glyph
	// Images counts the images that are shown: a page with images and without glyphs
	// is a scanned one.
	Images int
	// Uses are the painted forms, each before the forms that it paints. The first represents the page itself.
	Uses []Use
	// Undrawn are the texts of annotations that are shown, but have no appearance (12.5.6.6): each program draws
	// them in its own way.
	Undrawn []string

	runs     []run
	replaced []replacement
	codes    int // in runs
	lines    []line
	laid     bool
	attached map[int][]int // glyphs without own text, by the glyph that has it
}
