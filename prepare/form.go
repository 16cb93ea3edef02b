package prepare

import (
	"context"
	"fmt"
	"math"

	"countersign/prepare/pagetext"
	"countersign/seal/pdf"
)

// FormField is a widget of an interactive form with its field's attributes (ISO
// 32000-2 12.7). A field with several widgets, such as a group of radio buttons,
// is there once for each.
type FormField struct {
	Name  string // fully qualified (12.7.4.2)
	Label string // TU, "" if none
	// Type is text, date, checkbox, radio, select or signature. Push buttons are left out.
	Type string
	// Value and Default are texts; of a checkbox or a group the name of the state that
	// is on, "" if none is; of several selected choices the first.
	Value, Default     string
	Required, ReadOnly bool
	Multiline, Comb    bool
	Editable           bool // a select that takes other texts, too
	MaxLength          int  // 0: none
	Options            []FormOption
	Option             string // the state that this checkbox or radio button turns on
	Align              string // left, center or right
	FontSize           float64
	Format             string // of a date, as its format action has it
	Hidden             bool   // the widget is not shown (12.5.3: hidden or no view)
	Place              Place
	Field, Widget      pdf.Ref // Field is zero if it is not an object of its own
}

// FormOption is one of the choices of a select.
type FormOption struct{ Export, Text string }

const (
	maxFormFields = 20_000
	maxFormDepth  = 32
	maxFormText   = 64 << 10 // bytes of one text
	maxFormAction = 4 << 10  // bytes of a script that is looked at
)

// flags of fields (tables 227, 229, 231 and 233) and of annotations (table 167).
const (
	flagReadOnly   = 1 << 0
	flagRequired   = 1 << 1
	flagMultiline  = 1 << 12
	flagRadio      = 1 << 15
	flagPushButton = 1 << 16
	flagCombo      = 1 << 17
	flagEdit       = 1 << 18
	flagComb       = 1 << 24
	annotHidden    = 1 << 1
	annotNoView    = 1 << 5
)

// ReadForm returns the widgets of a document's form, in the order of its fields;
// those that no field leads to come last, in the order of the pages. Widgets that stand on no page are left out: nobody sees them. It fails with
// pagetext.ErrLimit, the context's error, or one of reading the file.
func ReadForm(ctx context.Context, f *pdf.File) ([]FormField, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	r := &formReader{ctx: ctx, f: f, seen: make(map[pdf.Ref]bool)}
	form, err := r.dict(cat.Get("AcroForm"))
	if err != nil || form == nil {
		return nil, err
	}
	fields, err := r.array(form.Get("Fields"))
	if err != nil {
		return nil, err
	}
	if err := r.findWidgets(); err != nil {
		return nil, err
	}
	base := inherited{appearance: form.Get("DA"), align: form.Get("Q")}
	for _, v := range fields {
		if err := r.field(v, base, 0); err != nil {
			return nil, err
		}
	}
	for _, ref := range r.order {
		if !r.seen[ref] {
			if err := r.stray(ref, base); err != nil {
				return nil, err
			}
		}
	}
	return r.fields, nil
}

// stray reads a widget that no field leads to: programs show it all the same.
func (r *formReader) stray(ref pdf.Ref, base inherited) error {
	r.seen[ref] = true
	var chain []pdf.Dict // from the widget up
	v, field := ref.Value(), pdf.Ref{}
	for range maxFormDepth {
		d, err := r.dict(v)
		if err != nil || d == nil {
			return err
		}
		chain = append(chain, d)
		if at, ok := v.Ref(); ok && d.Get("T") != nil && field == (pdf.Ref{}) {
			field = at
		}
		if v = d.Get("Parent"); v.IsNull() {
			break
		}
	}
	in := base
	for i := len(chain) - 1; i >= 0; i-- {
		var err error
		if in, err = r.inherit(in, chain[i]); err != nil {
			return err
		}
	}
	in.field = field
	return r.widget(ref, chain[0], in, r.places[ref])
}

// formReader walks the tree of fields.
type formReader struct {
	ctx    context.Context //nolint:containedctx // of one call
	f      *pdf.File
	places map[pdf.Ref]Place // of widgets
	order  []pdf.Ref         // of widgets, as they stand on the pages
	seen   map[pdf.Ref]bool
	nodes  int
	fields []FormField
}

// inherited is what a field takes from the one above (12.7.4.1).
type inherited struct {
	name                       string
	kind, flags, value, preset pdf.Value
	maxLength, options         pdf.Value
	appearance, align          pdf.Value
	label, actions             pdf.Value
	field                      pdf.Ref
}

// dict returns the dictionary that v is or refers to, nil if it is none.
func (r *formReader) dict(v pdf.Value) (pdf.Dict, error) {
	v, err := r.f.Resolve(v)
	if err != nil || !v.IsDict() {
		return nil, err
	}
	return v.Dict()
}

// array returns the array that v is or refers to, nil if it is none.
func (r *formReader) array(v pdf.Value) ([]pdf.Value, error) {
	v, err := r.f.Resolve(v)
	if err != nil || !v.IsArray() {
		return nil, err
	}
	return v.Array()
}

// findWidgets finds the page and the box of every widget.
func (r *formReader) findWidgets() error {
	r.places = make(map[pdf.Ref]Place)
	_, err := r.f.Walk(func(p *pdf.Page) error {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		annots, err := r.array(p.Dict.Get("Annots"))
		if err != nil || len(annots) == 0 {
			return err
		}
		g, err := r.f.Geometry(p)
		if err != nil {
			return err
		}
		for _, v := range annots {
			ref, ok := v.Ref()
			if !ok {
				continue
			}
			d, err := r.dict(v)
			if err != nil {
				return err
			}
			if !d.Get("Subtype").IsName("Widget") {
				continue
			}
			if len(r.places) == maxFormFields {
				return fmt.Errorf("%w: more than %d form fields", pagetext.ErrLimit, maxFormFields)
			}
			box, err := r.rectangle(d.Get("Rect"))
			if err != nil {
				return err
			}
			if _, ok := r.places[ref]; !ok {
				b := pagetext.Shown(g, box)
				r.order = append(r.order, ref)
				r.places[ref] = Place{p.Index + 1, b.X, b.Y, b.W, b.H}
			}
		}
		return nil
	})
	return err
}

// rectangle reads a rectangle (7.9.5), an empty one if it is none.
func (r *formReader) rectangle(v pdf.Value) (pdf.Box, error) {
	a, err := r.array(v)
	if err != nil || len(a) != 4 {
		return pdf.Box{}, err
	}
	var n [4]float64
	for i := range n {
		e, err := r.f.Resolve(a[i])
		if err != nil {
			return pdf.Box{}, err
		}
		var ok bool
		if n[i], ok = e.Float(); !ok || math.Abs(n[i]) > 1e7 {
			return pdf.Box{}, nil
		}
	}
	return pdf.Box{X0: min(n[0], n[2]), Y0: min(n[1], n[3]), X1: max(n[0], n[2]), Y1: max(n[1], n[3])}, nil
}

// field reads a node of the tree: a field, a widget, or both in one.
func (r *formReader) field(v pdf.Value, above inherited, depth int) error {
	ref, isRef := v.Ref()
	if isRef && r.seen[ref] {
		return nil // in a circle, or named twice
	}
	if r.nodes++; r.nodes > 2*maxFormFields || depth > maxFormDepth {
		return fmt.Errorf("%w: the form has too many fields, or they are nested too deeply", pagetext.ErrLimit)
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if isRef {
		r.seen[ref] = true
	}
	d, err := r.dict(v)
	if err != nil || d == nil {
		return err
	}
	in, err := r.inherit(above, d)
	if err != nil {
		return err
	}
	if d.Get("T") != nil {
		in.field = ref
	}
	kids, err := r.array(d.Get("Kids"))
	if err != nil {
		return err
	}
	for _, k := range kids {
		if err := r.field(k, in, depth+1); err != nil {
			return err
		}
	}
	if place, ok := r.places[ref]; ok && isRef && len(kids) == 0 {
		return r.widget(ref, d, in, place)
	}
	return nil
}

func (r *formReader) inherit(in inherited, d pdf.Dict) (inherited, error) {
	name, err := r.text(d.Get("T"))
	if err != nil {
		return in, err
	}
	if name != "" && in.name != "" {
		name = in.name + "." + name
	}
	if name != "" {
		in.name = name
	}
	if len(in.name) > maxFormText {
		return in, fmt.Errorf("%w: the name of a form field is too long", pagetext.ErrLimit)
	}
	for key, v := range map[string]*pdf.Value{
		"FT": &in.kind, "Ff": &in.flags, "V": &in.value, "DV": &in.preset, "MaxLen": &in.maxLength, "Opt": &in.options,
		"DA": &in.appearance, "Q": &in.align, "TU": &in.label, "AA": &in.actions,
	} {
		if own := d.Get(key); own != nil {
			*v = own
		}
	}
	return in, nil
}

// text returns a text string, or the text of a stream, as far as it is of use;
// the name of a name.
func (r *formReader) text(v pdf.Value) (string, error) {
	if ref, ok := v.Ref(); ok {
		o, err := r.f.Object(ref)
		if err != nil {
			return "", err
		}
		if o.IsStream() {
			b, err := r.f.StreamData(o)
			return pdf.DecodeText(b[:min(len(b), maxFormText)]), err
		}
	}
	v, err := r.f.Resolve(v)
	if err != nil {
		return "", err
	}
	if name, ok := v.Name(); ok {
		return name, nil
	}
	b, _ := v.Bytes()
	return pdf.DecodeText(b[:min(len(b), maxFormText)]), nil
}

func (r *formReader) integer(v pdf.Value) (int, error) {
	v, err := r.f.Resolve(v)
	if err != nil {
		return 0, err
	}
	n, _ := v.Int()
	return int(n), nil
}
