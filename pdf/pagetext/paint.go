package pagetext

import (
	"fmt"
	"math"

	"countersign/pdf"
)

// paint paints an XObject (8.8).
func (s *interpreter) paint() error {
	ref, ok := s.resources.get("XObject", s.name(0)).Ref()
	if !ok || s.off > 0 {
		return nil
	}
	return s.paintForm(ref, Use{Form: ref, Parent: s.use, At: s.operands[0].start}, s.g, s.resources, s.level+1)
}

// paintForm paints a form XObject or counts an image. The argument inherited contains the resources for a form that has
// no Resources entry, as in old files.
func (w *walk) paintForm(ref pdf.Ref, use Use, g state, inherited *resources, level int) error {
	if w.active[ref] {
		return nil
	}
	if image, ok := w.others[ref]; ok {
		if image {
			w.page.Images++
		}
		return nil
	}
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	o, err := w.r.f.Object(ref)
	if err != nil || !o.IsStream() {
		return err
	}
	d, err := o.Value.Dict()
	if err != nil {
		return nil //nolint:nilerr // PDF readers show nothing
	}
	if oc, ok := d.Get("OC").Ref(); ok && w.r.hidden[oc] {
		w.others[ref] = false
		return nil
	}
	kind := w.value(d.Get("Subtype"))
	if kind.IsName("Image") {
		w.others[ref] = true
		w.page.Images++
		return nil
	}
	if !kind.IsName("Form") && use.At >= 0 {
		return nil
	}
	if level > maxForms || w.forms >= maxOperators/100 {
		return fmt.Errorf("%w: forms are nested too deeply", ErrLimit)
	}
	b, err := w.r.f.StreamData(o)
	if err != nil {
		return err
	}
	w.forms++
	if w.left -= len(b); w.left < 0 {
		return fmt.Errorf("%w: too much content", ErrLimit)
	}
	g.ctm = matrix(w.r.f, d.Get("Matrix"), identity).Times(g.ctm) // see 8.10.2
	w.active[ref] = true
	defer delete(w.active, ref)
	own := inherited
	if v := d.Get("Resources"); !v.IsNull() || own == nil {
		own = newResources(w.r.f, v)
	}
	w.page.Uses = append(w.page.Uses, use)
	return w.run(b, len(w.page.Uses)-1, own, g, level)
}

// value resolves v. It returns null if the object cannot be read.
func (w *walk) value(v pdf.Value) pdf.Value {
	v, err := w.r.f.Resolve(v)
	if err != nil {
		return nil
	}
	return v
}

// matrix returns v as a matrix, or the last argument if v is not a matrix.
func matrix(f *pdf.File, v pdf.Value, otherwise pdf.Matrix) pdf.Matrix {
	if a := array(f, v); len(a) == len(otherwise) {
		for i := range otherwise {
			otherwise[i], _ = num(f, a[i])
		}
	}
	return otherwise
}

// Flags of annotations that are not displayed (Table 167).
const (
	annotHidden = 1 << 1
	annotNoView = 1 << 5
)

// annotations paints the appearances of a page's annotations (12.5.5), except form widgets.
func (w *walk) annotations(p *pdf.Page, g state) error {
	for _, v := range array(w.r.f, p.Dict.Get("Annots")) {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		d := dict(w.r.f, v)
		kind, _ := w.value(d.Get("Subtype")).Name()
		switch kind {
		case "", "Widget", "Popup":
			continue
		}
		if flags, _ := num(w.r.f, d.Get("F")); int(flags)&(annotHidden|annotNoView) != 0 {
			continue
		}
		if oc, ok := d.Get("OC").Ref(); ok && w.r.hidden[oc] {
			continue
		}
		ref, ok := w.appearance(d)
		if !ok {
			if kind == "FreeText" {
				w.undrawn(d)
			}
			continue
		}
		place, ok := w.appearancePlace(ref, d.Get("Rect"))
		if !ok {
			continue
		}
		use := Use{Form: ref, At: -1}
		use.Annotation, _ = v.Ref()
		at := g
		at.ctm = place.Times(g.ctm)
		if err := w.paintForm(ref, use, at, nil, 1); err != nil {
			return err
		}
	}
	return nil
}

const maxUndrawn = 4096 // maximum size in bytes

// undrawn records the text of an annotation without an appearance.
func (w *walk) undrawn(d pdf.Dict) {
	v, err := w.r.f.Resolve(d.Get("Contents"))
	if err != nil {
		return
	}
	if b, ok := v.Bytes(); ok {
		w.page.Undrawn = append(w.page.Undrawn, pdf.DecodeText(b[:min(len(b), maxUndrawn)]))
	}
}

// appearance returns the form of an annotation's normal appearance in its current state.
func (w *walk) appearance(d pdf.Dict) (pdf.Ref, bool) {
	look := dict(w.r.f, d.Get("AP")).Get("N")
	if _, ok := stream(w.r.f, look); !ok {
		state, _ := w.value(d.Get("AS")).Name()
		look = dict(w.r.f, look).Get(state)
	}
	return look.Ref()
}

// appearancePlace returns the matrix that maps an appearance's bounding box, transformed by its Matrix, to the
// annotation's rectangle.
func (w *walk) appearancePlace(ref pdf.Ref, rect pdf.Value) (pdf.Matrix, bool) {
	d := dict(w.r.f, ref.Value())
	box, ok := corners(w.r.f, d.Get("BBox"), matrix(w.r.f, d.Get("Matrix"), identity))
	if !ok {
		return pdf.Matrix{}, false
	}
	to, ok := corners(w.r.f, rect, identity)
	if !ok {
		return pdf.Matrix{}, false
	}
	x, y := (to[2]-to[0])/(box[2]-box[0]), (to[3]-to[1])/(box[3]-box[1])
	return pdf.Matrix{x, 0, 0, y, to[0] - x*box[0], to[1] - y*box[1]}, true
}

// corners returns the bounding box of a transformed rectangle. It returns false if the box is empty.
func corners(f *pdf.File, v pdf.Value, m pdf.Matrix) (box [4]float64, ok bool) {
	a := array(f, v)
	if len(a) != 4 {
		return box, false
	}
	var n [4]float64
	for i := range n {
		if n[i], ok = num(f, a[i]); !ok {
			return box, false
		}
	}
	box = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range [4][2]float64{{n[0], n[1]}, {n[2], n[1]}, {n[2], n[3]}, {n[0], n[3]}} {
		x, y := m.Apply(c[0], c[1])
		box = [4]float64{min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)}
	}
	return box, box[2] > box[0] && box[3] > box[1]
}
