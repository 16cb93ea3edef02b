package seal

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
	"countersign/seal/rejection"
)

// stamps contains the annotations of a page, including the drawings added to it. Every drawing on a page of the
// original is a stamp annotation (12.5.6.12) that follows the original's annotations. A graphics state that the page's
// content leaves open therefore does not affect the drawing.
type stamps struct {
	page        pdf.Ref
	appearances []pdf.Value // the examined appearances of the original's annotations (AP)
	annots      []pdf.Value
	changed     bool // whether annots differ from the original's
	covers      []pdf.Box
	dark        []bool // whether each value overlaps an annotation that is or may be dark
}

// Flags of annotations (12.5.3).
const (
	flagHidden   = 1 << 1
	flagPrint    = 1 << 2
	flagNoView   = 1 << 5
	flagReadOnly = 1 << 6
	flagLocked   = 1 << 7
	flagsOfStamp = flagPrint | flagReadOnly | flagLocked
	maxAnnots    = 20_000 // maximum number of annotations examined on a page
)

// RedrawsFields reports whether the file requests that viewers redraw form fields (NeedAppearances, 12.7.3).
func RedrawsFields(f *pdf.File) (bool, error) {
	catalog, _, err := f.Catalog()
	if err != nil {
		return false, err
	}
	lookup := &pdf.Lookup{File: f}
	form := lookup.Dict(catalog.Get("AcroForm"))
	return lookup.Value(form.Get("NeedAppearances")).Bool(), lookup.Err
}

// readAnnots returns the existing annotations of a page. If lookAt is set, it examines them, replaces form fields below
// values with stamps, and records the positions of the visible annotations.
func (p *painter) readAnnots(ctx context.Context, page *pdf.Page, boxes []pdf.Box, lookAt bool) (*stamps, error) {
	o := &p.stamped
	*o = stamps{page: page.Ref, annots: o.annots[:0], dark: append(o.dark[:0], make([]bool, len(boxes))...), covers: o.covers[:0], appearances: o.appearances[:0]}
	if page.Dict.Get("Annots").IsNull() {
		return o, nil
	}
	list, err := p.file.Resolve(page.Dict.Get("Annots"))
	if err != nil || !list.IsArray() {
		return o, err
	}
	if o.annots, err = list.Array(); err != nil || !lookAt {
		return o, err
	}
	if len(o.annots) > maxAnnots && p.dryRun {
		return nil, fmt.Errorf("%w: page %d has more than %d annotations", pdf.ErrLimit, page.Index+1, maxAnnots)
	}
	for at, v := range o.annots[:min(len(o.annots), maxAnnots)] {
		if ctx.Err() != nil { // pages may share one long list
			return nil, ctx.Err()
		}
		d, err := pdf.OptionalDict(p.file, v)
		if err != nil {
			return nil, err
		}
		if look := d.Get("AP"); !look.IsNull() {
			o.appearances = append(o.appearances, slices.Clone(look))
		}
		if err := p.annotation(o, at, d, boxes); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (p *painter) annotation(o *stamps, at int, d pdf.Dict, boxes []pdf.Box) error {
	if d == nil {
		return nil
	}
	kind, err := p.file.Resolve(d.Get("Subtype"))
	if err != nil {
		return err
	}
	flags, err := p.flags(at, d)
	if err != nil {
		return err
	}
	isWidget := kind.IsName("Widget")
	without := (kind.IsName("Link") || kind.IsName("Popup")) && d.Get("AP").IsNull() // viewers draw them only if they have an appearance
	if without || flags&flagHidden != 0 || flags&(flagNoView|flagPrint) == flagNoView {
		return nil // invisible
	}
	rect, ok, err := p.rectangle(d.Get("Rect"))
	if err != nil || !ok {
		return err
	}
	o.covers = append(o.covers, rect)
	covered := p.dryRun
	for i, b := range boxes {
		if rect.Overlaps(b) {
			covered = true
			dark, err := p.darkAnnotation(d, isWidget)
			if err != nil {
				return err
			}
			o.dark[i] = o.dark[i] || dark
		}
	}
	if covered && isWidget {
		return p.flatten(o, at, d, flags, rect)
	}
	return nil
}

// flags returns the flags of an annotation. Any value other than a valid integer is an error, because such a value
// hides the annotation only in some viewers.
func (p *painter) flags(at int, d pdf.Dict) (int64, error) {
	v, err := p.file.Resolve(d.Get("F"))
	if err != nil || v.IsNull() {
		return 0, err
	}
	flags, ok := v.Int()
	if !ok || flags < 0 || flags > math.MaxInt32 {
		return 0, rejection.Ambiguous("the flags of annotation %d of a page are invalid", at+1)
	}
	return flags, nil
}

// darkAnnotation reports whether dark ink might be illegible on an annotation.
func (p *painter) darkAnnotation(d pdf.Dict, isWidget bool) (bool, error) {
	if !isWidget {
		return true, nil // unknown
	}
	drawn, err := pdf.OptionalDict(p.file, d.Get("MK"))
	if err != nil {
		return false, err
	}
	components, err := pdf.ArrayIn(p.file, drawn.Get("BG"))
	if err != nil || len(components) == 0 { // absent or not an array; viewers ignore it
		return false, nil //nolint:nilerr // see above
	}
	light := 1.0
	lookup := &pdf.Lookup{File: p.file}
	for i, c := range components {
		n, _ := lookup.Value(c).Float()
		switch len(components) {
		case 1:
			light = n
		case 3:
			light -= (1 - n) * []float64{0.3, 0.59, 0.11}[i]
		default:
			light -= n * []float64{0.3, 0.59, 0.11, 1}[min(i, 3)]
		}
	}
	return light < 0.55, lookup.Err
}

// rectangle returns the position of an annotation. If viewers might interpret the position differently, it returns a
// box that covers the whole page.
func (p *painter) rectangle(v pdf.Value) (pdf.Box, bool, error) {
	list, err := pdf.ArrayIn(p.file, v)
	if len(list) > 4 { // MuPDF uses the first four elements
		return everywhere, true, err
	}
	if err != nil || len(list) != 4 {
		return pdf.Box{}, false, nil //nolint:nilerr // viewers do not show it
	}
	var n [4]float64
	for i := range n {
		e, err := p.file.Resolve(list[i])
		if err != nil {
			return pdf.Box{}, false, err
		}
		var ok bool
		if n[i], ok = e.Float(); !ok {
			return everywhere, true, nil
		}
	}
	return pdf.Box{X0: min(n[0], n[2]), Y0: min(n[1], n[3]), X1: max(n[0], n[2]), Y1: max(n[1], n[3])}, true, nil
}

var everywhere = pdf.Box{X0: math.Inf(-1), Y0: math.Inf(-1), X1: math.Inf(1), Y1: math.Inf(1)}

func (p *painter) stampValue(o *stamps, g pdf.Geometry, v Value, dark bool) error {
	const around = 2 // points, because glyphs can extend slightly beyond their field
	w, h := g.Size()
	c := p.t.canvas(w, h)
	m, err := p.value(c, v, dark)
	if err != nil {
		return err
	}
	bbox := pdf.Box{X0: v.X - around, Y0: h - v.Y - v.H - around, X1: v.X + v.W + around, Y1: h - v.Y + around}
	annotation := p.w.Reserve()
	form, err := p.marked(c, o.page, annotation, box(bbox.X0, bbox.Y0, bbox.X1, bbox.Y1), m, matrixEntry(g.ToUser()))
	if err != nil {
		return err
	}
	at := g.Box(bbox.X0, bbox.Y0, bbox.X1, bbox.Y1)
	d := o.stamp(box(at.X0, at.Y0, at.X1, at.Y1), flagsOfStamp, form.Value())
	if what := cmp.Or(m.alt, v.Text); what != "" {
		d.Set("Contents", pdf.AppendText(nil, what))
	}
	p.w.PutDict(annotation, d)
	o.add(annotation)
	return nil
}

// footLine is the annotation with the line at the foot, except for its page entry. It is valid for all pages with the
// same geometry.
type footLine struct {
	of    pdf.Geometry
	head  []byte // nil if there is no space for the line
	built bool
}

func (p *painter) stampLine(o *stamps, g pdf.Geometry) error {
	if !p.foot.built || p.foot.of != g {
		head, err := p.lineAnnotation(g)
		if err != nil {
			return err
		}
		p.foot = footLine{of: g, head: head, built: true}
	}
	if p.foot.head == nil {
		return nil
	}
	annotation := p.w.Reserve()
	p.w.Begin(annotation)
	p.w.Append(p.foot.head)
	p.w.Append(o.page.Append(p.buf[:0]))
	p.w.AppendString(">>")
	p.w.End()
	o.add(annotation)
	return nil
}

// lineAnnotation returns the beginning of the annotation with the line. Its page entry must be appended.
func (p *painter) lineAnnotation(g pdf.Geometry) ([]byte, error) {
	form, known := p.line[g.Rotate]
	if !known {
		turn := pdf.Geometry{Rotate: g.Rotate, UserUnit: 1} // the annotation rectangle determines position and size
		var err error
		if form, p.lineWidth, err = p.t.sealLine(p.job, p.sealer.cfg.ServiceName, matrixEntry(turn.ToUser())); err != nil {
			return nil, err
		}
		p.line[g.Rotate] = form
	}
	w, _ := g.Size()
	k := min(1, (w-2*sealLineMargin)/p.lineWidth)
	if k <= 0.1 {
		return nil, nil
	}
	at := g.Box(sealLineMargin, sealLineFoot, sealLineMargin+k*p.lineWidth, sealLineFoot+k*sealLineSize*sealLineHeight)
	d := stampDict(box(at.X0, at.Y0, at.X1, at.Y1), flagsOfStamp, form.Value()).Value()
	return append(d[:len(d)-len(">>")], "/P "...), nil
}

// closeSequences closes the marked-content sequences that a page leaves open, in an invisible appearance after the
// original's annotations.
func (p *painter) closeSequences(o *stamps, g pdf.Geometry) error {
	if p.open == 0 {
		return nil
	}
	c := p.t.canvas(1, 1)
	c.b = append(c.b, strings.Repeat("EMC\n", p.open)...)
	form, err := c.form()
	if err != nil {
		return err
	}
	at := g.Box(0, 0, 1, 1)
	o.add(p.w.Add(o.stamp(box(at.X0, at.Y0, at.X1, at.Y1), flagsOfStamp, form.Value()).Value()))
	return nil
}

func matrixEntry(m pdf.Matrix) pdf.Entry {
	b := []byte{'['}
	for i, n := range m {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, n, 'f', -1, 64)
	}
	return pdf.Entry{Key: "Matrix", Value: append(b, ']')}
}

// stamp returns the dictionary of a stamp annotation on the page.
func (o *stamps) stamp(rect pdf.Value, flags int64, form pdf.Value) pdf.Dict {
	return append(stampDict(rect, flags, form), pdf.Entry{Key: "P", Value: o.page.Value()})
}

// stampDict returns the dictionary of a stamp annotation that shows a form XObject, without its page entry.
func stampDict(rect pdf.Value, flags int64, form pdf.Value) pdf.Dict {
	return pdf.Dict{
		{Key: "Type", Value: pdf.Value("/Annot")},
		{Key: "Subtype", Value: pdf.Value("/Stamp")},
		{Key: "Rect", Value: rect},
		{Key: "F", Value: pdf.Value(strconv.FormatInt(flags, 10))},
		{Key: "AP", Value: slices.Concat(pdf.Value("<</N "), form, pdf.Value(">>"))},
	}
}

func (o *stamps) add(annotation pdf.Ref) {
	o.annots, o.changed = append(o.annots, annotation.Value()), true
}
