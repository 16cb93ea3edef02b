package appearance

import (
	"encoding/binary"
	"unicode/utf16"
)

// Heading is a heading of a page, according to the structure tree of a tagged PDF (14.7.2).
type Heading struct {
	// Level is the level of the heading, from 1 to 6.
	Level int `json:"level"`
	// Line and LastLine are the numbers of the heading's lines.
	Line     int `json:"line"`
	LastLine int `json:"lastLine"`
}

const (
	// maxElements is the maximum number of structure elements read from a page.
	maxElements = 20_000
	// maxElementDepth is the maximum nesting depth of structure elements.
	maxElementDepth = 64
)

// headings identifies the headings of a page by their marked content.
type headings struct {
	r        *textReader
	levels   []int         // levels by heading
	byMark   map[int32]int // number of the heading, starting at 1, by marked-content identifier
	byObject map[uint64]int
	elements int
}

// headings reads the headings of the page from its structure tree.
func (r *textReader) headings() *headings {
	h := &headings{r: r, byMark: map[int32]int{}, byObject: map[uint64]int{}}
	tree := r.d.call("FPDF_StructTree_GetForPage", r.page)
	if tree == 0 {
		return h
	}
	for i := range r.d.number("FPDF_StructTree_CountChildren", tree) {
		h.read(r.d.call("FPDF_StructTree_GetChildAtIndex", tree, i), 0, maxElementDepth)
	}
	r.d.call("FPDF_StructTree_Close", tree)
	return h
}

// number calls a function that returns an int, and returns 0 instead of a negative number.
func (d *Document) number(name string, args ...uint64) uint64 {
	return uint64(max(0, int32(d.call(name, args...)))) //nolint:gosec // an int
}

// read reads an element. If the given heading is not 0, the element is part of that heading.
func (h *headings) read(element uint64, heading, depth int) {
	d := h.r.d
	if h.elements++; element == 0 || depth == 0 || h.elements > maxElements || d.err != nil {
		return
	}
	if heading == 0 {
		if level := headingLevel(h.kind(element)); level > 0 {
			h.levels = append(h.levels, level)
			heading = len(h.levels)
		}
	}
	if heading > 0 {
		for i := range min(d.number("FPDF_StructElement_GetMarkedContentIdCount", element), maxElements) {
			if mark := int32(d.call("FPDF_StructElement_GetMarkedContentIdAtIndex", element, i)); mark >= 0 { //nolint:gosec // an int
				h.byMark[mark] = heading
			}
		}
	}
	for i := range min(d.number("FPDF_StructElement_CountChildren", element), maxElements) {
		h.read(d.call("FPDF_StructElement_GetChildAtIndex", element, i), heading, depth-1)
	}
}

// kind returns the standard structure type of an element, or the empty string if it is too long.
func (h *headings) kind(element uint64) string {
	const size = 32
	at := h.r.scratch
	n := h.r.d.number("FPDF_StructElement_GetType", element, uint64(at), size)
	if n < 2 || n > size {
		return ""
	}
	b, _ := h.r.d.module.Memory().Read(at, uint32(n)-2) // the last character is NUL
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// headingLevel returns the level of a heading by its structure type, or 0 if the type is not a heading.
func headingLevel(kind string) int {
	switch kind {
	case "Title", "H", "H1":
		return 1
	case "H2", "H3", "H4", "H5", "H6":
		return int(kind[1] - '0')
	}
	return 0
}

// of returns the number of the heading that contains a character, starting at 1, or 0 if there is none.
func (h *headings) of(c character) int {
	if len(h.byMark) == 0 {
		return 0
	}
	object := h.r.d.call("FPDFText_GetTextObject", h.r.text, c.index)
	if object == 0 {
		return 0
	}
	heading, ok := h.byObject[object]
	if !ok {
		if mark := int32(h.r.d.call("FPDFPageObj_GetMarkedContentID", object)); mark >= 0 { //nolint:gosec // an int
			heading = h.byMark[mark]
		}
		h.byObject[object] = heading
	}
	return heading
}

// add adds the headings of a page's text, whose words have already been read. A line belongs to a heading if all of its
// words do.
func (h *headings) add(t *Text) {
	last := 0
	for i := 0; i < len(t.Words); {
		line, heading := t.Words[i].Line, t.Words[i].heading
		for ; i < len(t.Words) && t.Words[i].Line == line; i++ {
			if t.Words[i].heading != heading {
				heading = 0
			}
		}
		if n := len(t.Headings); heading > 0 && heading == last {
			t.Headings[n-1].LastLine = line
		} else if heading > 0 {
			t.Headings = append(t.Headings, Heading{Level: h.levels[heading-1], Line: line, LastLine: line})
		}
		last = heading
	}
}
