package prepare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// FormField is a widget of an interactive form with its field's attributes (ISO 32000-2 12.7). A field with several
// widgets, such as a group of radio buttons, appears once for each.
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
	MaxLength          int // 0: none
	Options            []FormOption
	Option             string // the state that this checkbox or radio button turns on
	Align              string // left, center or right
	FontSize           float64
	Format             string // of a date, as its format action has it
	Hidden             bool   // the widget is not shown (12.5.3: hidden or no view)
	Place              Place
	Widget             pdf.Ref
}

// FormOption is one of the choices of a select.
type FormOption struct{ Export, Text string }

const (
	maxFormFields = 20_000
	maxFormDepth  = 32
	maxFormText   = 64 << 10 // bytes of one text
	maxFormTexts  = 32 << 20 // bytes of all
	maxFormAction = 4 << 10  // bytes of a script that is looked at
)

// flags of fields (tables 227, 229, 231 and 233) and of annotations (table 167).
const (
	flagReadOnly   = 1 << 0
	flagRequired   = 1 << 1
	flagMultiline  = 1 << 12
	flagRadio      = 1 << 15
	flagPushButton = 1 << 16
	flagComb       = 1 << 24
	annotHidden    = 1 << 1
	annotNoView    = 1 << 5
)

// ReadForm returns the widgets of a document's form, in the order of its fields;
// those that no field leads to come last, in the order of the pages. Widgets that
// stand on no page are left out: nobody sees them. It fails with pagetext.ErrLimit,
// the context's error, or one of reading the file.
func ReadForm(ctx context.Context, f *pdf.File) ([]FormField, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	r := &formReader{Lookup: pdf.Lookup{File: f}, ctx: ctx, seen: make(map[pdf.Ref]bool), options: make(map[pdf.Ref][]FormOption)}
	form := r.Dict(cat.Get("AcroForm"))
	fields := r.array(form.Get("Fields"))
	if r.Err != nil || form == nil {
		return nil, r.Err
	}
	if err := r.findWidgets(); err != nil {
		return nil, err
	}
	base := inherited{appearance: form.Get("DA"), align: form.Get("Q")}
	for _, v := range fields {
		r.field(v, base, 0)
	}
	for _, ref := range r.order {
		if !r.seen[ref] {
			r.stray(ref, base)
		}
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return r.fields, nil
}

// stray reads a widget that no field leads to: programs show it all the same.
func (r *formReader) stray(ref pdf.Ref, base inherited) {
	r.seen[ref] = true
	var chain []pdf.Dict // from the widget up
	v := ref.Value()
	for range maxFormDepth {
		d := r.Dict(v)
		if d == nil {
			return
		}
		chain = append(chain, d)
		if v = d.Get("Parent"); v.IsNull() {
			break
		}
	}
	in := base
	for _, d := range slices.Backward(chain) {
		in = r.inherit(in, d)
	}
	r.widget(ref, chain[0], in, r.places[ref])
}

// formReader walks the tree of fields.
type formReader struct {
	pdf.Lookup

	ctx    context.Context   //nolint:containedctx // of one call
	places map[pdf.Ref]Place // of widgets
	order  []pdf.Ref         // of widgets, as they stand on the pages
	seen   map[pdf.Ref]bool
	nodes  int
	texts  int // bytes of the texts so far
	// options of fields that share a list: they are kept once.
	options map[pdf.Ref][]FormOption
	fields  []FormField
}

// inherited is what a field takes from the one above (12.7.4.1).
type inherited struct {
	name                       string
	kind, flags, value, preset pdf.Value
	maxLength, options         pdf.Value
	appearance, align          pdf.Value
	label, actions             pdf.Value
}

// array returns the array that v is or refers to, nil if it is none.
func (r *formReader) array(v pdf.Value) []pdf.Value {
	if v = r.Value(v); !v.IsArray() {
		return nil
	}
	return r.Array(v)
}

// findWidgets finds the page and the box of every widget.
func (r *formReader) findWidgets() error {
	r.places = make(map[pdf.Ref]Place)
	_, err := r.File.Walk(func(p *pdf.Page) error {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		annots := r.array(p.Dict.Get("Annots"))
		if len(annots) == 0 {
			return r.Err
		}
		g, err := r.File.Geometry(p)
		if err != nil {
			return err
		}
		for _, v := range annots {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			ref, ok := v.Ref()
			if !ok {
				continue
			}
			d := r.Dict(v)
			if !r.Value(d.Get("Subtype")).IsName("Widget") {
				continue
			}
			if len(r.places) == maxFormFields {
				return fmt.Errorf("%w: more than %d form fields", pagetext.ErrLimit, maxFormFields)
			}
			box := r.rectangle(d.Get("Rect"))
			if _, ok := r.places[ref]; !ok {
				b := pagetext.Shown(g, box)
				r.order = append(r.order, ref)
				r.places[ref] = Place{p.Index + 1, b.X, b.Y, b.W, b.H}
			}
		}
		return r.Err
	})
	return err
}

// rectangle reads a rectangle (7.9.5), an empty one if it is none.
func (r *formReader) rectangle(v pdf.Value) pdf.Box {
	a := r.array(v)
	if len(a) != 4 {
		return pdf.Box{}
	}
	var n [4]float64
	for i := range n {
		var ok bool
		if n[i], ok = r.Value(a[i]).Float(); !ok || math.Abs(n[i]) > 1e7 {
			return pdf.Box{}
		}
	}
	return pdf.Box{X0: min(n[0], n[2]), Y0: min(n[1], n[3]), X1: max(n[0], n[2]), Y1: max(n[1], n[3])}
}

// field reads a node of the tree: a field, a widget, or both in one.
func (r *formReader) field(v pdf.Value, above inherited, depth int) {
	ref, isRef := v.Ref()
	if r.Err != nil || isRef && r.seen[ref] { // in a circle, or named twice
		return
	}
	if r.nodes++; r.nodes > 2*maxFormFields || depth > maxFormDepth {
		r.Err = fmt.Errorf("%w: the form has too many fields, or they are nested too deeply", pagetext.ErrLimit)
		return
	}
	if r.Err = r.ctx.Err(); r.Err != nil {
		return
	}
	if isRef {
		r.seen[ref] = true
	}
	d := r.Dict(v)
	if d == nil {
		return
	}
	in := r.inherit(above, d)
	kids := r.array(d.Get("Kids"))
	for _, k := range kids {
		r.field(k, in, depth+1)
	}
	if place, ok := r.places[ref]; ok && isRef && len(kids) == 0 {
		r.widget(ref, d, in, place)
	}
}

func (r *formReader) inherit(in inherited, d pdf.Dict) inherited {
	name := r.text(d.Get("T"))
	if name != "" && in.name != "" {
		name = in.name + "." + name
	}
	if in.name = cmp.Or(name, in.name); len(in.name) > maxFormText {
		r.Err = fmt.Errorf("%w: the name of a form field is too long", pagetext.ErrLimit)
	}
	for key, v := range map[string]*pdf.Value{
		"FT": &in.kind, "Ff": &in.flags, "V": &in.value, "DV": &in.preset, "MaxLen": &in.maxLength, "Opt": &in.options,
		"DA": &in.appearance, "Q": &in.align, "TU": &in.label, "AA": &in.actions,
	} {
		if own := d.Get(key); own != nil {
			*v = own
		}
	}
	return in
}

// text returns a text string, the text of a stream, or the text of a name. It limits the total, because all fields may
// refer to the same long text.
func (r *formReader) text(v pdf.Value) string {
	const each = 16 // a choice without a text takes room as well
	text := r.textOf(v)
	if r.texts += len(text) + each; r.texts > maxFormTexts && r.Err == nil {
		r.Err = fmt.Errorf("%w: the texts of the form have more than %d MB", pagetext.ErrLimit, maxFormTexts>>20)
	}
	if r.Err == nil {
		r.Err = r.ctx.Err()
	}
	if r.Err != nil {
		return ""
	}
	return text
}

func (r *formReader) textOf(v pdf.Value) string {
	var b []byte
	at, isRef := v.Ref()
	if v = r.Value(v); isRef && v.IsDict() { // a stream, perhaps
		var o pdf.Object
		if o, r.Err = r.File.Object(at); o.IsStream() {
			b, r.Err = r.File.StreamData(o)
		}
	} else if name, ok := v.Name(); ok {
		return name
	} else {
		b, _ = v.Bytes()
	}
	return pdf.DecodeText(b[:min(len(b), maxFormText)])
}

func (r *formReader) integer(v pdf.Value) int {
	n, _ := r.Value(v).Int()
	return int(n)
}
