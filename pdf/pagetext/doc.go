// Package pagetext reads the text of a page as displayed. For every glyph it returns the Unicode text, the box, and the
// position in the content.
//
// It supports text operators, fonts, form XObjects, inherited resources, layers, rotation, crop boxes, and the
// appearances of annotations except form widgets. Section numbers refer to ISO 32000-2:2020. The numbers of operators,
// nested forms, glyphs, and entries in fonts and CMaps are limited. As in the HTTP API, all boxes are in points from
// the top left corner of the displayed page, with y increasing downward.
package pagetext

import (
	"errors"

	"countersign/pdf"
)

// ErrLimit is wrapped by errors about a page that exceeds the limits for text, operators or forms.
var ErrLimit = errors.New("pagetext: page exceeds the limits")

const (
	maxGlyphs    = 200_000   // per page
	maxOperators = 2_000_000 // per page, including its forms
	maxForms     = 12        // maximum nesting depth
	maxSaved     = 512       // unbalanced q operators
	maxOperands  = 512
	maxContent   = 32 << 20       // decoded bytes per page, including its forms
	maxFonts     = 256            // in the cache
	maxCMap      = 1 << 17        // entries per CMap
	maxSpaces    = 256            // codespace ranges per CMap; real ones have fewer than ten
	maxCodes     = 10 * maxGlyphs // per page, including invisible ones
)

// Box is a rectangle in points from the top left corner of the displayed page.
type Box struct{ X, Y, W, H float64 }

// Union returns the smallest box that contains both boxes. An empty box is ignored.
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

// Position is the position of a glyph's code in the content.
type Position struct {
	// Use is the index in Page.Uses of the painted form that contains the code, or 0 for the page's own content.
	Use int
	// Start is the start of the string operand in the decoded content. The streams of a page are joined, separated by
	// line feeds.
	Start int
	// Code and Length are the offset and length of the character code in the decoded string.
	Code, Length int
	// Advance is the displacement for the code, in thousandths of the font size. It uses the same unit as the numbers
	// in the operand of TJ, but the opposite sign.
	Advance float64
}

// Use is one painting of a form XObject, either by Do or as the appearance of an annotation.
type Use struct {
	Form   pdf.Ref
	Parent int // index of the use whose content paints this one
	// At is the position of the form's name in the decoded content that paints it, or -1 for an appearance.
	At int
	// Annotation is the annotation of an appearance. It is zero if the annotation is a direct object.
	Annotation pdf.Ref
}

// Glyph is the glyph of one character code of a text operator.
type Glyph struct {
	// Text is the glyph's Unicode text in NFKD. It is empty if the text of the previous glyph includes this glyph. For
	// a ligature, it contains several characters. Unknown text is represented by U+FFFD.
	Text string
	Box  Box
	// Size is the displayed font size in points.
	Size float64
	// Angle is the writing direction in degrees: 0 is to the right, 90 down, 180 to the left, and 270 up.
	Angle int
	// Invisible reports whether the glyph is not painted (text rendering mode 3 or 7, 9.3.6).
	Invisible bool
	Position  Position

	along, across float64 // origin in the writing direction, and perpendicular to it
	end           float64 // end of the glyph, like along
}

// Page is the text of a page.
type Page struct {
	Index         int // starting at 0
	Width, Height float64
	// Glyphs contains the glyphs in content order.
	Glyphs []Glyph
	// Images is the number of visible images. A page that has images but no glyphs is a scanned page.
	Images int
	// Uses lists the painted forms, each before the forms that it paints. The first entry represents the page itself.
	Uses []Use
	// Undrawn lists the text of each visible annotation without an appearance (12.5.6.6). Each program draws such an
	// annotation differently.
	Undrawn []string

	runs     []run
	replaced []replacement
	codes    int // number of codes in runs
	lines    []line
	laid     bool
	attached map[int][]int // glyphs whose text belongs to another glyph, by that glyph
}
