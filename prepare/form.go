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

// FormField is a widget of an interactive form with the attributes of its field (ISO 32000-2, 12.7). A field with
// several widgets, such as a group of radio buttons, appears once for each widget.
type FormField struct {
	Name  string // fully qualified (12.7.4.2)
	Label string // alternate field name (TU); "" if absent
	// Type is text, date, checkbox, radio, select or signature. Push buttons are omitted.
	Type string
	// Value and Default are strings. For a checkbox or group, each is the name of the selected state, or "" if no
	// state is selected. If several options are selected, each is the first of them.
	Value, Default     string
	Required, ReadOnly bool
	Multiline, Comb    bool
	MaxLength          int // 0 if unlimited
	Options            []FormOption
	Option             string // state selected by this checkbox or radio button
	Align              string // left, center or right
	FontSize           float64
	Format             string // format of a date, from its format action
	Hidden             bool   // whether the widget is not displayed (Hidden or NoView, 12.5.3)
	Place              Position
	Widget             pdf.Ref
}

// FormOption is an option of a select.
type FormOption struct{ Export, Text string }

const (
	maxFormFields = 20_000
	maxFormDepth  = 32
	maxFormText   = 64 << 10 // maximum size of one string in bytes
	maxFormTexts  = 32 << 20 // maximum total size of strings in bytes
	maxFormAction = 4 << 10  // maximum size of an examined script in bytes
)

// Flags of fields (Tables 227, 229, 231 and 233) and annotations (Table 167).
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

// ReadForm returns the widgets of a document's form, in the order of the fields. Widgets outside the field tree come
// last, in page order. Widgets that are not on a page are omitted, because they are not displayed. ReadForm returns
// pagetext.ErrLimit, the context's error, or an error from reading the file.
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

// stray reads a widget outside the field tree. Programs display such widgets.
func (r *formReader) stray(ref pdf.Ref, base inherited) {
	r.seen[ref] = true
	var chain []pdf.Dict // from the widget upwards
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

type formReader struct {
	pdf.Lookup

	ctx    context.Context      //nolint:containedctx // of one call
	places map[pdf.Ref]Position // positions of widgets
	order  []pdf.Ref            // widgets in page order
	seen   map[pdf.Ref]bool
	nodes  int
	texts  int // total size of strings so far, in bytes
	// options caches the options of each list, so that fields that share a list do not store them repeatedly.
	options map[pdf.Ref][]FormOption
	fields  []FormField
}

// inherited contains the attributes that a field inherits from its parent (12.7.4.1).
type inherited struct {
	name                       string
	kind, flags, value, preset pdf.Value
	maxLength, options         pdf.Value
	appearance, align          pdf.Value
	label, actions             pdf.Value
}

// array resolves v and returns the elements of the array, or nil if it is not an array.
func (r *formReader) array(v pdf.Value) []pdf.Value {
	if v = r.Value(v); !v.IsArray() {
		return nil
	}
	return r.Array(v)
}

// findWidgets determines the page and the box of every widget.
func (r *formReader) findWidgets() error {
	r.places = make(map[pdf.Ref]Position)
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
				b := pagetext.DisplayBox(g, box)
				r.order = append(r.order, ref)
				r.places[ref] = Position{p.Index + 1, b.X, b.Y, b.W, b.H}
			}
		}
		return r.Err
	})
	return err
}

// rectangle reads a rectangle (7.9.5). It returns an empty box if v is not a rectangle.
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

// field reads a node of the tree, which is a field, a widget, or both.
func (r *formReader) field(v pdf.Value, above inherited, depth int) {
	ref, isRef := v.Ref()
	if r.Err != nil || isRef && r.seen[ref] { // in a cycle, or listed twice
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

// text returns the content of a text string, a stream or a name. It limits the total size, because all fields can
// refer to the same long string.
func (r *formReader) text(v pdf.Value) string {
	const each = 16 // accounts for the memory of an option without text
	text := r.textOf(v)
	if r.texts += len(text) + each; r.texts > maxFormTexts && r.Err == nil {
		r.Err = fmt.Errorf("%w: the text of the form is larger than %d MiB", pagetext.ErrLimit, maxFormTexts>>20)
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
	if v = r.Value(v); isRef && v.IsDict() { // possibly a stream
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
