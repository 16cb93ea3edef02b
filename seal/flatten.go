package seal

import (
	"cmp"
	"math"
	"strings"

	"countersign/pdf"
	"countersign/seal/text"
)

// flatten replaces a form field with a stamp of the same appearance. Some viewers paint all form fields after all other
// annotations, which would hide the value.
func (p *painter) flatten(o *stamps, at int, d pdf.Dict, flags int64, rect pdf.Box) error {
	form, err := p.normalAppearance(d)
	if err != nil {
		return err
	}
	if form == nil {
		if form, err = p.drawPlainField(d, rect); err != nil {
			return err
		}
	}
	o.changed = true
	if form == nil {
		o.annots[at] = pdf.Value("null")
		return nil
	}
	stamp := o.stamp(d.Get("Rect"), flags|flagReadOnly|flagLocked, form)
	if oc := d.Get("OC"); oc != nil {
		stamp.Set("OC", oc)
	}
	o.annots[at] = p.w.Add(stamp.Value()).Value()
	return nil
}

// normalAppearance returns the stream of an annotation's normal appearance (12.5.5), or nil if there is none for its
// state.
func (p *painter) normalAppearance(d pdf.Dict) (pdf.Value, error) {
	lookup := &pdf.Lookup{File: p.file}
	normal := lookup.Dict(d.Get("AP")).Get("N")
	if ok, err := pdf.IsStream(p.file, normal); ok || err != nil {
		return normal, err
	}
	state, named := lookup.Value(d.Get("AS")).Name()
	normal = lookup.Dict(normal).Get(state)
	ok, err := pdf.IsStream(p.file, normal)
	if !ok || !named {
		normal = nil
	}
	return normal, cmp.Or(err, lookup.Err)
}

// drawPlainField draws the background, border and text of a field without an appearance, as viewers do.
func (p *painter) drawPlainField(d pdf.Dict, rect pdf.Box) (pdf.Value, error) {
	w, h := rect.X1-rect.X0, rect.Y1-rect.Y0
	lookup := &pdf.Lookup{File: p.file}
	if d.Get("AP") != nil || math.IsInf(w, 0) || w <= 2 || h <= 2 {
		return nil, nil // invisible in its current state
	}
	c := p.t.canvas(w, h)
	drawn := lookup.Dict(d.Get("MK"))
	if c.setColor(lookup, drawn.Get("BG"), "g", "rg", "k") {
		c.op("re", 0, 0, w, h)
		c.op("f")
	}
	if c.setColor(lookup, drawn.Get("BC"), "G", "RG", "K") {
		width := 1.0
		if n, ok := lookup.Value(lookup.Dict(d.Get("BS")).Get("W")).Float(); ok {
			width = min(max(n, 0), w, h)
		}
		c.op("w", width)
		c.op("re", width/2, width/2, w-width, h-width)
		c.op("S")
	}
	if b, ok := fieldValue(lookup, d).Bytes(); ok && len(b) > 0 {
		lines, size, err := fitText(p.t.lib.WrapOf, strings.TrimSpace(pdf.DecodeText(b)), w-2, h, 0)
		if err != nil {
			return nil, err
		}
		for i, l := range lines {
			c.show(face{text.Sans, size, ink}, 1, (h-float64(len(lines))*size*lineFactor)/2+size*(0.93+float64(i)*lineFactor), l)
		}
	}
	if len(c.b) == 0 || lookup.Err != nil {
		return nil, lookup.Err
	}
	form, err := c.form()
	return form.Value(), err
}

// fieldValue returns the value of a field, which may be inherited from a parent (12.7.4.1).
func fieldValue(lookup *pdf.Lookup, d pdf.Dict) pdf.Value {
	const deep = 8
	for range deep {
		if v := lookup.Value(d.Get("V")); !v.IsNull() || d.Get("Parent").IsNull() {
			return v
		}
		d = lookup.Dict(d.Get("Parent"))
	}
	return nil
}

// setColor sets the color of an annotation (12.5.6.19), with the operator for its number of components. It returns
// false if the annotation has no color.
func (c *canvas) setColor(lookup *pdf.Lookup, v pdf.Value, gray, rgb, cmyk string) bool {
	v = lookup.Value(v)
	if !v.IsArray() {
		return false
	}
	parts := lookup.Array(v)
	operator, ok := map[int]string{1: gray, 3: rgb, 4: cmyk}[len(parts)]
	if !ok {
		return false
	}
	n := make([]float64, len(parts))
	for i := range parts {
		if n[i], ok = lookup.Value(parts[i]).Float(); !ok {
			return false
		}
	}
	c.op(operator, n...)
	return true
}
