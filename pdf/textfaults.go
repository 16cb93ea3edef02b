package pdf

import (
	"context"
	"math"
)

// TextFaults are operators in content that programs interpret differently, so that some show a text and others do not.
// "" means none.
type TextFaults struct {
	// Font is the name of a font that the resources lack (9.3.1): some programs take
	// another one, some show nothing.
	Font string
	// Operands are the operands of a Tf that are not a font and a size.
	Operands string
	// Mode is the operand of a Tr that is no text rendering mode (9.3.6).
	Mode string
	// Unread says that not all of the content could be read.
	Unread bool
}

// PageTextFaults examines a page's content, up to most decoded bytes. It returns the number of decoded bytes.
func (f *File) PageTextFaults(ctx context.Context, contents []Value, resources Value, most int64) (TextFaults, int64, error) {
	data, whole, err := f.contentData(contents, most)
	if err != nil {
		return TextFaults{}, 0, err
	}
	return f.textFaults(ctx, data, resources, whole, most)
}

// StreamTextFaults examines the content of a form or a pattern that has its own resources. One without is examined
// where it is used.
func (f *File) StreamTextFaults(ctx context.Context, o Object, most int64) (TextFaults, int64, error) {
	d, err := o.Value.Dict()
	if err != nil || d.Get("Resources").IsNull() {
		return TextFaults{}, 0, err
	}
	data, whole := f.decodeSome(nil, o, most)
	return f.textFaults(ctx, data, d.Get("Resources"), whole, most)
}

// textReader finds faults in one content, and in the forms without resources that it paints: they use the resources of
// the content.
type textReader struct {
	ctx       context.Context //nolint:containedctx // of one call
	f         *File
	resources resources
	fonts     map[string]bool
	forms     map[Ref]bool // looked at
	faults    TextFaults
	size      int64
	err       error
}

// textFaults looks for faults. It writes behind data.
func (f *File) textFaults(ctx context.Context, data []byte, own Value, whole bool, most int64) (TextFaults, int64, error) {
	r := &textReader{ctx: ctx, f: f, resources: resources{f: f, value: own}, forms: make(map[Ref]bool)}
	d, err := OptionalDict(f, own)
	if err == nil {
		r.fonts, err = f.fontNames(ctx, d)
	}
	if err != nil {
		return TextFaults{}, 0, err
	}
	r.read(data, whole, most, 0)
	return r.faults, r.size, r.err
}

func (r *textReader) read(data []byte, whole bool, most int64, level int) {
	r.size += int64(len(data))
	r.faults.Unread = r.faults.Unread || !whole || r.size > most
	if r.faults.Unread {
		return
	}
	var operands []Value
	err := tokens(r.ctx, data, func(v Value) {
		if len(operands) < maxOperands {
			operands = append(operands, v)
		}
	}, func(op string) bool {
		switch op {
		case "Tf":
			r.faults.font(operands, r.fonts)
		case "Tr":
			r.faults.mode(operands)
		case "Do":
			if len(operands) == 1 {
				r.form(operands[0], most, level)
			}
		}
		operands = operands[:0]
		return r.err == nil
	}, func() { operands = operands[:0] }, func() {})
	if r.err == nil {
		r.err = err
	}
}

// form reads a form that has no resources.
func (r *textReader) form(name Value, most int64, level int) {
	key, _ := name.Name()
	v, err := r.resources.get("XObject", key)
	if err != nil {
		r.err = err
		return
	}
	ref, ok := v.Ref()
	if !ok || r.forms[ref] || level >= maxForms {
		return
	}
	r.forms[ref] = true
	o, err := r.f.objectAhead(ref)
	if err != nil || !o.IsStream() {
		r.err = err
		return
	}
	d, err := o.Value.Dict()
	if err != nil {
		r.err = err
		return
	}
	look := &Lookup{File: r.f}
	if !look.Value(d.Get("Subtype")).IsName("Form") || !look.Value(d.Get("Resources")).IsNull() {
		r.err = look.Err
		return
	}
	data, whole := r.f.decodeSome(nil, o, most)
	r.read(data, whole, most, level+1)
}

// operandsOf returns the source of operands, "nothing" if there are none.
func operandsOf(operands []Value) string {
	if len(operands) == 0 {
		return "nothing"
	}
	array := JoinArray(operands)
	return string(array[1 : len(array)-1])
}

func (t *TextFaults) font(operands []Value, fonts map[string]bool) {
	if len(operands) == 2 {
		name, isName := operands[0].Name()
		if _, isNumber := decimal(operands[1]); isName && isNumber {
			if !fonts[name] {
				t.Font = "/" + name
			}
			return
		}
	}
	t.Operands = operandsOf(operands)
}

func (t *TextFaults) mode(operands []Value) {
	if len(operands) == 1 {
		if n, ok := decimal(operands[0]); ok && n >= 0 && n <= 7 && n == math.Trunc(n) {
			return
		}
	}
	t.Mode = operandsOf(operands)
}

// fontNames returns the names of the fonts among resources.
func (f *File) fontNames(ctx context.Context, resources Dict) (map[string]bool, error) {
	names := make(map[string]bool)
	fonts, err := OptionalDict(f, resources.Get("Font"))
	for _, e := range fonts {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		is, err := f.isDict(e.Value)
		if err != nil {
			return nil, err
		}
		if is {
			names[e.Key] = true
		}
	}
	return names, err
}
