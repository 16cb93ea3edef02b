package seal

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"countersign/seal/pdf"
	"countersign/seal/refusal"
)

// overlay is what a page's annotations do to what is drawn on it. Annotations are
// painted after the page: a value below one would vanish. Such a value is drawn by
// an annotation of its own, the last of the page.
type overlay struct {
	values  []bool // which values have an annotation above them
	fields  []bool // which of them have a form field above them
	dark    []bool // which of them would stand on dark ground, as far as is known
	annots  []pdf.Value
	changed bool // annots are not those of the original
}

// Flags of annotations (12.5.3).
const (
	flagHidden  = 1 << 1
	flagPrint   = 1 << 2
	flagNoView  = 1 << 5
	flagLocked  = 1<<6 | 1<<7 | 1<<9 // read only, locked, locked contents
	maxOverlaid = 20_000             // annotations of a page that are looked at
)

// RedrawsFields reports whether programs are asked to make the looks of form
// fields anew (12.7.3).
func RedrawsFields(f *pdf.File) (bool, error) {
	catalog, _, err := f.Catalog()
	if err != nil {
		return false, err
	}
	look := &pdf.Lookup{File: f}
	form := look.Dict(catalog.Get("AcroForm"))
	return look.Value(form.Get("NeedAppearances")).Bool(), look.Err
}

// annotations finds out which values have an annotation above them.
func (p *painter) annotations(ctx context.Context, page *pdf.Page, g pdf.Geometry, values []Value) (*overlay, error) {
	o := &p.over
	*o = overlay{}
	if n := len(values); n > 0 {
		o.values, o.fields, o.dark = make([]bool, n), make([]bool, n), make([]bool, n)
	}
	if page.Dict.Get("Annots").IsNull() {
		return o, nil
	}
	list, err := p.file.Resolve(page.Dict.Get("Annots"))
	if err != nil || !list.IsArray() {
		return o, err
	}
	if values == nil && !p.dryRun {
		return o, nil
	}
	if o.annots, err = list.Array(); err != nil {
		return nil, err
	}
	_, h := g.Size()
	boxes := make([]pdf.Box, len(values))
	for i, v := range values {
		boxes[i] = g.Box(v.X, h-v.Y-v.H, v.X+v.W, h-v.Y)
	}
	if len(o.annots) > maxOverlaid { // what the rest of them covers is not known
		if p.dryRun {
			return nil, fmt.Errorf("%w: page %d has more than %d annotations", pdf.ErrLimit, page.Index+1, maxOverlaid)
		}
		for i := range values {
			o.values[i], o.dark[i] = true, true
		}
	}
	for at, v := range o.annots[:min(len(o.annots), maxOverlaid)] {
		if ctx.Err() != nil { // pages may share one long list
			return nil, ctx.Err()
		}
		d, err := pdf.OptionalDict(p.file, v)
		if err != nil {
			return nil, err
		}
		if err := p.annotation(o, at, v, d, boxes); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (p *painter) annotation(o *overlay, at int, v pdf.Value, d pdf.Dict, boxes []pdf.Box) error {
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
	without := (kind.IsName("Link") || kind.IsName("Popup")) && d.Get("AP").IsNull() // programs draw them if they have looks
	if without || flags&flagHidden != 0 || flags&(flagNoView|flagPrint) == flagNoView {
		return nil // nothing that could cover a value
	}
	rect, ok, err := p.rectangle(d.Get("Rect"))
	if err != nil || !ok {
		return err
	}
	covers := p.dryRun
	for i, b := range boxes {
		if rect.Overlaps(b) {
			o.values[i], covers = true, true
			o.fields[i] = o.fields[i] || isWidget
			dark, err := p.darkAnnotation(d, isWidget)
			if err != nil {
				return err
			}
			o.dark[i] = o.dark[i] || dark
		}
	}
	if covers && isWidget {
		return p.lock(o, at, v, d, flags)
	}
	return nil
}

// flags reads the flags of an annotation. What is no plain integer hides it in some
// programs and not in others.
func (p *painter) flags(at int, d pdf.Dict) (int64, error) {
	v, err := p.file.Resolve(d.Get("F"))
	if err != nil || v.IsNull() {
		return 0, err
	}
	flags, ok := v.Int()
	if !ok || flags < 0 || flags > math.MaxInt32 {
		return 0, refusal.AmbiguousContent("the flags of annotation %d of a page are no flags", at+1)
	}
	return flags, nil
}

// lock makes a form field below a value what it is in a sealed document: no
// program may change it. Those that put an input of their own in its place, above
// all annotations, draw it in its turn then.
func (p *painter) lock(o *overlay, at int, v pdf.Value, d pdf.Dict, flags int64) error {
	if flags&flagLocked == flagLocked {
		return nil
	}
	d = d.Clone()
	d.Set("F", pdf.Value(strconv.FormatInt(flags|flagLocked, 10)))
	ref, ok := v.Ref()
	if !ok {
		o.annots[at] = d.Value()
		o.changed = true
		return nil
	}
	if !p.locked[ref] { // it may be on several pages
		p.locked[ref] = true
		p.w.PutDict(ref, d)
	}
	return nil
}

// darkAnnotation reports whether dark ink might not be readable on an annotation.
func (p *painter) darkAnnotation(d pdf.Dict, isWidget bool) (bool, error) {
	if !isWidget {
		return true, nil // unknown
	}
	drawn, err := pdf.OptionalDict(p.file, d.Get("MK"))
	if err != nil {
		return false, err
	}
	colour, err := pdf.ArrayIn(p.file, drawn.Get("BG"))
	if err != nil || len(colour) == 0 { // none, or no array: readers ignore it
		return false, nil //nolint:nilerr // see above
	}
	light := 1.0
	look := &pdf.Lookup{File: p.file}
	for i, c := range colour {
		n, _ := look.Value(c).Float()
		switch len(colour) {
		case 1:
			light = n
		case 3:
			light -= (1 - n) * []float64{0.3, 0.59, 0.11}[i]
		default:
			light -= n * []float64{0.3, 0.59, 0.11, 1}[min(i, 3)]
		}
	}
	return light < 0.55, look.Err
}

// rectangle reads where an annotation stands: everywhere, if programs could read it
// in other ways.
func (p *painter) rectangle(v pdf.Value) (pdf.Box, bool, error) {
	list, err := pdf.ArrayIn(p.file, v)
	if len(list) > 4 { // MuPDF takes the first ones
		return everywhere, true, err
	}
	if err != nil || len(list) != 4 {
		return pdf.Box{}, false, nil //nolint:nilerr // readers do not show it
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

// valuesAbove draws the values that annotations would cover.
func (p *painter) valuesAbove(o *overlay, page pdf.Ref, g pdf.Geometry, values []Value, look pdf.Content) error {
	const around = 2 // points: letters reach a little beyond their field
	w, h := g.Size()
	for i, v := range values {
		if v.empty() || !o.values[i] {
			continue
		}
		c := p.t.canvas(w, h)
		m, err := p.value(c, v, look.Dark[i] || o.dark[i], 0)
		if err != nil {
			return err
		}
		bbox := pdf.Box{X0: v.X - around, Y0: h - v.Y - v.H - around, X1: v.X + v.W + around, Y1: h - v.Y + around}
		form, err := p.marked(c, page, box(bbox.X0, bbox.Y0, bbox.X1, bbox.Y1), []markedContent{m}, matrixEntry(g.ToUser()))
		if err != nil {
			return err
		}
		o.add(p, page, o.fields[i], g.Box(bbox.X0, bbox.Y0, bbox.X1, bbox.Y1), form, cmp.Or(m.alt, v.Text))
	}
	return nil
}

// lineAbove draws the line at the foot as an annotation.
func (p *painter) lineAbove(o *overlay, page pdf.Ref, g pdf.Geometry, line pdf.Ref) error {
	k := p.lineScale(g)
	if k == 0 {
		return nil
	}
	width, height := p.lineWidth, sealLineSize*sealLineHeight
	c := p.t.canvas(width, height)
	c.do(line)
	m := pdf.Matrix{k, 0, 0, k, sealLineMargin, sealLineFoot}.Times(g.ToUser())
	form, err := c.form(matrixEntry(m))
	if err != nil {
		return err
	}
	o.add(p, page, false, g.Box(sealLineMargin, sealLineFoot, sealLineMargin+k*width, sealLineFoot+k*height), form, "")
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

// add appends an annotation that shows a form, on the screen and in print, and
// that must not change.
func (o *overlay) add(p *painter, page pdf.Ref, field bool, at pdf.Box, form pdf.Ref, what string) {
	d := pdf.Dict{
		{Key: "Type", Value: pdf.Value("/Annot")},
		{Key: "Subtype", Value: pdf.Value("/Stamp")},
		{Key: "Rect", Value: box(at.X0, at.Y0, at.X1, at.Y1)},
		{Key: "F", Value: pdf.Value(strconv.Itoa(flagPrint | flagLocked))},
		{Key: "P", Value: page.Value()},
		{Key: "AP", Value: slices.Concat(pdf.Value("<</N "), form.Value(), pdf.Value(">>"))},
	}
	if what != "" {
		d.Set("Contents", pdf.AppendText(nil, what))
	}
	o.changed = true
	if !field {
		o.annots = append(o.annots, p.w.Add(d.Value()).Value())
		return
	}
	// MuPDF and PDFium paint all form fields after all other annotations: what is
	// above a field has to be one, too, if none that belongs to the form.
	d.Set("Subtype", pdf.Value("/Widget"))
	if p.redrawn {
		// Poppler makes the looks of every field anew, but not of one without a type.
		// MuPDF does not show that one.
		o.annots = append(o.annots, p.w.Add(d.Value()).Value())
	}
	number := strconv.Itoa(len(o.annots))
	d = append(d, pdf.Entry{Key: "FT", Value: pdf.Value("/Btn")}, pdf.Entry{Key: "Ff", Value: pdf.Value("65537")}, // a push button, read only
		pdf.Entry{Key: "T", Value: pdf.AppendText(nil, p.name("V"+number))})
	o.annots = append(o.annots, p.w.Add(d.Value()).Value())
}
