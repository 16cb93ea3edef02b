package pagetext

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"countersign/pdf"
)

// ErrReplacedText reports that glyphs cannot be removed, because their text is specified by a property list that cannot
// be written into the content (14.9.4).
var ErrReplacedText = errors.New("pagetext: the text also occurs in a property list")

// ErrNoSuchText reports that a position does not exist in the content.
var ErrNoSuchText = errors.New("pagetext: no text at this position")

// Removal defines the changes that Remove makes to content.
type Removal struct {
	// Glyphs lists the positions of the glyphs to remove. The Use of a position is ignored.
	Glyphs []Position
	// Forms contains the new names of painted XObjects, by the position of the former name in the content.
	Forms map[int]string
	// Properties returns the property list with the given name in the content's resources (14.6.2), or nil if there is
	// none.
	Properties func(name string) pdf.Dict
}

// Remove returns content without the given glyphs. It preserves the advance of every removed glyph, so that nothing
// else moves. If an ActualText specifies the text of these glyphs, Remove writes the property list into the content
// without the ActualText. Everything else is copied unchanged.
func Remove(content []byte, what Removal) ([]byte, error) {
	r := remover{in: content, what: what, codes: make(map[int]map[int]Position), lists: make(map[string]replaced)}
	for _, g := range what.Glyphs {
		if r.codes[g.Start] == nil {
			r.codes[g.Start] = make(map[int]Position)
		}
		r.codes[g.Start][g.Code] = g
	}
	painted := 0
	s := scanner{b: content}
	for {
		op, ok := s.next()
		if !ok {
			break
		}
		switch op {
		case "Tj", "'", "\"", "TJ":
			r.show(op, s.operands, s.i)
		case "Do":
			if len(s.operands) == 0 {
				continue
			}
			o := s.operands[0]
			if name, ok := what.Forms[o.start]; ok {
				r.edits = append(r.edits, edit{o.start, o.start + len(o.value), pdf.AppendName(nil, name)})
				painted++
			}
		case "BMC":
			r.marks = append(r.marks, replaced{start: -1})
		case "BDC":
			r.marks = append(r.marks, r.replacedBy(s.operands))
		case "EMC":
			if n := len(r.marks); n > 0 {
				r.endMark(r.marks[n-1])
				r.marks = r.marks[:n-1]
			}
		}
	}
	for _, m := range r.marks { // sequences left open
		r.endMark(m)
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case len(r.codes) > 0, painted != len(what.Forms):
		return nil, ErrNoSuchText
	}
	return r.result(), nil
}

// remover collects the edits to the content.
type remover struct {
	in    []byte
	what  Removal
	codes map[int]map[int]Position // positions by the start of the string and the code in it
	edits []edit
	marks []replaced
	lists map[string]replaced // property lists of the resources, by name
	err   error
}

type edit struct {
	start, end int
	text       []byte
}

// replaced is a marked-content sequence whose properties can replace its text.
type replaced struct {
	start, end int      // range of the properties in the content; -1 if they replace no text
	properties pdf.Dict // properties without the texts
	removed    bool     // whether any glyphs in it are removed
	fixed      bool     // whether the properties cannot be written into the content
}

func (r *remover) replacedBy(operands []operand) replaced {
	none := replaced{start: -1}
	if len(operands) != 2 {
		return none
	}
	o := operands[1]
	var m replaced
	if name, ok := o.value.Name(); ok {
		if r.what.Properties == nil {
			return replaced{start: o.start, fixed: true}
		}
		if m, ok = r.lists[name]; !ok {
			m = withoutTexts(r.what.Properties(name))
			r.lists[name] = m
		}
	} else if d, err := o.value.Dict(); err == nil {
		m = withoutTexts(d)
	}
	if m.properties == nil {
		return none
	}
	m.start, m.end = o.start, o.start+len(o.value)
	return m
}

// withoutTexts returns a property list without the entries that specify text, or a zero value if it has no such entry.
func withoutTexts(d pdf.Dict) replaced {
	if d.Get("ActualText") == nil && d.Get("Alt") == nil && d.Get("E") == nil {
		return replaced{}
	}
	d = d.Clone()
	for _, key := range []string{"ActualText", "Alt", "E"} {
		d.Delete(key)
	}
	fixed := d.Value().References(func(pdf.Ref) error { return ErrReplacedText }) != nil // content cannot contain references (7.8.2)
	return replaced{properties: d, fixed: fixed}
}

func (r *remover) endMark(m replaced) {
	if !m.removed {
		return
	}
	if n := len(r.marks); n > 1 { // the glyphs are also in the enclosing sequence
		r.marks[n-2].removed = true
	}
	switch {
	case m.start < 0:
	case m.fixed:
		r.err = ErrReplacedText
	default:
		r.edits = append(r.edits, edit{m.start, m.end, m.properties.Value()})
	}
}

// show rewrites a text-showing operator if glyphs are removed from its strings.
func (r *remover) show(op string, operands []operand, end int) {
	if len(operands) == 0 {
		return
	}
	last := operands[len(operands)-1]
	parts := []operand{last}
	if op == "TJ" {
		parts = slices.Collect(last.elements())
	}
	if !slices.ContainsFunc(parts, func(o operand) bool { return r.codes[o.start] != nil }) {
		return
	}
	for i := len(r.marks) - 1; i >= 0 && !r.marks[i].removed; i-- { // sequences around a marked one are already marked
		r.marks[i].removed = true
	}
	var b bytes.Buffer
	switch op {
	case "'":
		b.WriteString("T* ")
	case "\"":
		if len(operands) >= 3 {
			fmt.Fprintf(&b, "%s Tw %s Tc ", operands[0].value, operands[1].value)
		}
		b.WriteString("T* ")
	}
	b.WriteByte('[')
	for _, o := range parts {
		codes, ok := r.codes[o.start]
		if !ok {
			b.Write(o.value)
			b.WriteByte(' ')
			continue
		}
		delete(r.codes, o.start)
		r.cut(&b, o, codes)
	}
	b.WriteString("] TJ")
	r.edits = append(r.edits, edit{operands[0].start, end, b.Bytes()})
}

// cut removes parts of a string. It writes each remaining part as a separate string, and replaces each removed part
// with a number.
func (r *remover) cut(b *bytes.Buffer, o operand, codes map[int]Position) {
	text, ok := o.value.Bytes()
	if !ok {
		r.err = ErrNoSuchText
		return
	}
	kept, advance, removed := 0, 0.0, 0
	flush := func(to int) {
		if to > kept {
			fmt.Fprintf(b, "<%x>", text[kept:to])
		}
	}
	move := func() {
		if advance != 0 && !math.IsNaN(advance) && !math.IsInf(advance, 0) {
			fmt.Fprintf(b, " %.4f ", -advance)
		}
		advance = 0
	}
	for i := 0; i < len(text); {
		g, ok := codes[i]
		if !ok || g.Length < 1 || i+g.Length > len(text) {
			move()
			i++
			continue
		}
		flush(i)
		removed++
		advance += g.Advance
		i += g.Length
		kept = i
	}
	move()
	flush(len(text))
	if removed != len(codes) {
		r.err = ErrNoSuchText
	}
}

// result returns the content with all edits applied.
func (r *remover) result() []byte {
	slices.SortFunc(r.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	out := make([]byte, 0, len(r.in)+64*len(r.edits))
	at := 0
	for _, e := range r.edits {
		out = append(out, r.in[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, r.in[at:]...)
}
