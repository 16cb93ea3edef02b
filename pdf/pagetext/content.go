package pagetext

import (
	"context"
	"fmt"
	"strings"

	"countersign/pdf"
)

// state is the part of the graphics state that affects text (8.4, 9.3).
type state struct {
	ctm                     pdf.Matrix // from user space to points on the displayed page
	font                    *face
	size, char, word, scale float64
	leading, rise           float64
	mode                    int
}

func newState(ctm pdf.Matrix) state { return state{ctm: ctm, scale: 1} }

// walk holds the interpreter's state for the content of a page.
type walk struct {
	ctx       context.Context //nolint:containedctx // of one call
	r         *Reader
	page      *Page
	operators int
	codes     int // number of codes read
	left      int // remaining bytes of forms that may be read
	forms     int
	active    map[pdf.Ref]bool // forms currently being painted
	others    map[pdf.Ref]bool // XObjects other than forms; true for an image
	marks     []mark
	off       int // number of open marks that are hidden
}

// mark is a marked-content sequence (14.6).
type mark struct {
	first  int    // index of the first run
	actual string // ActualText (14.9.4), if replaces is set
	replaces,
	hidden bool
}

// run interprets one content stream. The argument use is an index in Page.Uses.
func (w *walk) run(b []byte, use int, own *resources, g state, level int) error {
	s := &interpreter{walk: w, scanner: scanner{b: b}, use: use, resources: own, g: g, tm: identity, tlm: identity, level: level}
	marks := len(w.marks)
	for {
		op, ok := s.next()
		if !ok {
			break
		}
		if w.operators++; w.operators > maxOperators {
			return fmt.Errorf("%w: too many operators", ErrLimit)
		}
		if w.operators%4096 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err := s.operator(op); err != nil {
			return err
		}
	}
	for len(w.marks) > marks { // sequences left open
		w.endMark()
	}
	return nil
}

func (w *walk) endMark() {
	if len(w.marks) == 0 {
		return
	}
	m := w.marks[len(w.marks)-1]
	w.marks = w.marks[:len(w.marks)-1]
	if m.hidden {
		w.off--
	}
	if m.replaces && m.first < len(w.page.runs) {
		w.page.replaced = append(w.page.replaced, replacement{m.first, len(w.page.runs), m.actual})
	}
}

// replacement is text that replaces the text of some runs.
type replacement struct {
	first, end int
	text       string
}

// replace assigns a different text to glyphs. If there are as many characters as glyphs, each glyph gets one character.
// Otherwise the first glyph gets the complete text.
func replace(glyphs []Glyph, text string) {
	if len(glyphs) == 0 {
		return
	}
	runes := []rune(strings.Trim(text, "\x00"))
	each := len(runes) == len(glyphs)
	for i := range glyphs {
		switch {
		case each:
			glyphs[i].Text = normal(string(runes[i]))
		case i == 0:
			glyphs[i].Text = normal(string(runes))
		default:
			glyphs[i].Text = ""
		}
	}
}

// interpreter interprets one content stream.
type interpreter struct {
	*walk
	scanner

	use       int
	resources *resources
	g         state
	saved     []state
	tm, tlm   pdf.Matrix
	level     int
}

// n returns operand i, counted from the left, as a number.
func (s *interpreter) n(i int) float64 {
	if i < len(s.operands) {
		return s.operands[i].number()
	}
	return 0
}

func (s *interpreter) operator(op string) error {
	switch op {
	case "q":
		if len(s.saved) < maxSaved {
			s.saved = append(s.saved, s.g)
		}
	case "Q":
		if n := len(s.saved); n > 0 {
			s.g, s.saved = s.saved[n-1], s.saved[:n-1]
		}
	case "cm":
		if len(s.operands) == 6 {
			s.g.ctm = s.matrix().Times(s.g.ctm)
		}
	case "BT":
		s.tm, s.tlm = identity, identity
	case "Tc":
		s.g.char = s.n(0)
	case "Tw":
		s.g.word = s.n(0)
	case "Tz":
		s.g.scale = s.n(0) / 100
	case "TL":
		s.g.leading = s.n(0)
	case "Ts":
		s.g.rise = s.n(0)
	case "Tr":
		s.g.mode = int(s.n(0))
	case "Tf":
		if len(s.operands) >= 2 {
			s.g.size = s.n(1)
			return s.useFont(s.name(0))
		}
	case "Td":
		s.move(s.n(0), s.n(1))
	case "TD":
		s.g.leading = -s.n(1)
		s.move(s.n(0), s.n(1))
	case "Tm":
		if len(s.operands) == 6 {
			s.tlm = s.matrix()
			s.tm = s.tlm
		}
	case "T*":
		s.move(0, -s.g.leading)
	case "Tj", "'", "\"", "TJ":
		return s.showText(op)
	case "Do":
		return s.paint()
	case "ID":
		if s.off == 0 {
			s.page.Images++
		}
	case "BMC":
		s.marks = append(s.marks, mark{first: len(s.page.runs)})
	case "BDC":
		s.beginMark()
	case "EMC":
		s.endMark()
	case "gs":
		return s.extGState()
	}
	return nil
}

func (s *interpreter) matrix() (m pdf.Matrix) {
	for i := range m {
		m[i] = s.n(i)
	}
	return m
}

func (s *interpreter) move(x, y float64) {
	s.tlm = pdf.Matrix{1, 0, 0, 1, x, y}.Times(s.tlm)
	s.tm = s.tlm
}

// name returns operand i, counted from the left, as a name.
func (s *interpreter) name(i int) string {
	if i >= len(s.operands) {
		return ""
	}
	name, _ := s.operands[i].value.Name()
	return name
}

// useFont selects the font with the given resource name.
func (s *interpreter) useFont(name string) error {
	if a, ok := s.resources.faces[name]; ok {
		s.g.font = a
		return nil
	}
	err := s.selectFont(s.resources.get("Font", name))
	if err == nil {
		s.resources.faces[name] = s.g.font
	}
	return err
}

func (s *interpreter) selectFont(v pdf.Value) error {
	ref, isRef := v.Ref()
	if isRef {
		if a, ok := s.r.fonts[ref]; ok {
			s.g.font = a
			return nil
		}
	}
	d := dict(s.r.f, v)
	if d == nil { // PDF readers use a substitute font
		d = pdf.Dict{{Key: "Subtype", Value: pdf.Value("/Type1")}, {Key: "BaseFont", Value: pdf.Value("/Helvetica")}}
	}
	a, err := readFont(s.r.f, d)
	if err != nil {
		return err
	}
	s.g.font = a
	if isRef {
		if len(s.r.fonts) >= maxFonts {
			clear(s.r.fonts)
		}
		s.r.fonts[ref] = a
	}
	return nil
}

// extGState selects the font that a graphics state sets, if any (8.4.5).
func (s *interpreter) extGState() error {
	name := s.name(0)
	set, ok := s.resources.states[name]
	if !ok {
		if a := array(s.r.f, dict(s.r.f, s.resources.get("ExtGState", name)).Get("Font")); len(a) == 2 {
			before := s.g.font
			if err := s.selectFont(a[0]); err != nil {
				return err
			}
			set.font, s.g.font = s.g.font, before
			set.size, _ = num(s.r.f, a[1])
		}
		s.resources.states[name] = set
	}
	if set.font != nil {
		s.g.font, s.g.size = set.font, set.size
	}
	return nil
}

func (s *interpreter) beginMark() {
	m := mark{first: len(s.page.runs)}
	if len(s.operands) == 2 {
		var v, actual pdf.Value
		if s.operands[1].value.IsDict() {
			properties, _ := s.operands[1].value.Dict()
			actual = properties.Get("ActualText")
		} else {
			v = s.resources.get("Properties", s.name(1))
			actual = s.resources.actualText(s.name(1))
		}
		if ref, ok := v.Ref(); ok && s.operands[0].value.IsName("OC") {
			m.hidden = s.r.hidden[ref]
		}
		if b, ok := actual.Bytes(); ok && len(b) <= 4096 {
			m.actual, m.replaces = pdf.DecodeText(b), true
		}
	}
	if m.hidden {
		s.off++
	}
	if len(s.marks) < maxSaved {
		s.marks = append(s.marks, m)
	}
}
