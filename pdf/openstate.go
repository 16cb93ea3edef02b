package pdf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
)

// OpenState determines the state that content leaves for the annotations painted after it. The state matters in
// programs that keep a single state for a whole page, such as pdf.js. Marked-content sequences (14.6) can remain open,
// and a hidden one hides everything that follows. An unbalanced Q (8.4.2) can restore a state with a soft mask, or, in
// a form, a state without a font for the text that follows. In either case, such a program stops painting there. The
// counts are upper bounds: if programs may interpret content differently, no sequence counts as closed.
type OpenState struct {
	f *File
	// layered reports whether the document has layers. If it has none, nothing is hidden, and sequences need not be
	// counted.
	layered bool
	data    int64                // remaining decoded bytes that may be read
	known   map[Ref]*streamState // results for streams; nil while a stream is being read
	fonts   map[Ref]bool         // fonts already examined
	state   map[Ref]Value        // soft mask groups of graphics states; nil if there is no mask
}

// streamState is the state that results from one content stream.
type streamState struct {
	open     int  // number of open sequences
	surplus  bool // has an unbalanced Q
	masked   bool // its resources contain a soft mask
	inherits bool // shows text before selecting a font
	breaks   bool // shows text after an unbalanced Q, before selecting a font
}

func (l *streamState) add(m streamState) {
	l.open += m.open
	l.surplus, l.masked, l.breaks = l.surplus || m.surplus, l.masked || m.masked, l.breaks || m.breaks
}

const (
	maxSequences = 4096
	maxNested    = 32 // maximum nesting depth of streams
)

// NewOpenState returns an OpenState that reads up to the given number of decoded bytes.
func NewOpenState(f *File, most int64, layered bool) *OpenState {
	return &OpenState{f: f, data: most, layered: layered, known: map[Ref]*streamState{}, fonts: map[Ref]bool{}, state: map[Ref]Value{}}
}

// Page returns the number of marked-content sequences left open by a page's content and by the appearances of its
// annotations (AP), including the forms that they paint. It returns ErrLimit if the number cannot be determined, or if
// nothing can be drawn after the content.
func (s *OpenState) Page(ctx context.Context, contents []Value, resources Value, appearances []Value) (int, error) {
	data, whole, err := s.f.contentData(contents, max(s.data, 0))
	if err != nil {
		return 0, err
	}
	if err := s.spend(len(data)); err != nil {
		return 0, err
	}
	data = bytes.Clone(data) // reading forms overwrites the buffer
	all, err := s.inResources(ctx, resources, 0)
	if err != nil {
		return 0, err
	}
	if err := s.content(ctx, data, whole, resources, 0, &all); err != nil {
		return 0, err
	}
	err = s.eachAppearance(ctx, appearances, func(v Value) error {
		left, err := s.stream(ctx, v, nil, 1)
		all.add(left)
		return err
	})
	if err != nil {
		return 0, err
	}
	switch {
	case all.surplus && all.masked:
		return 0, fmt.Errorf("%w: an unmatched Q operator in content with a soft mask", ErrLimit)
	case all.breaks:
		return 0, fmt.Errorf("%w: an unmatched Q operator in a form, followed by text without a font", ErrLimit)
	}
	return all.open, nil
}

// stream returns the state that results from a form, an appearance or a glyph.
func (s *OpenState) stream(ctx context.Context, v, resources Value, level int) (streamState, error) {
	ref, ok := v.Ref()
	if !ok {
		return streamState{}, nil
	}
	n, known := s.known[ref]
	switch {
	case (known && n == nil || level > maxNested) && !s.layered:
		return streamState{}, nil
	case known && n == nil || level > maxNested:
		return streamState{}, fmt.Errorf("%w: content that contains itself, or is nested too deeply", ErrLimit)
	case known:
		return *n, nil
	}
	s.known[ref] = &streamState{}
	o, err := s.f.Object(ref)
	if err != nil || !o.IsStream() {
		return streamState{}, err
	}
	d, err := o.Value.Dict()
	if err != nil || d.Get("Subtype").IsName("Image") {
		return streamState{}, err
	}
	own := d.Get("Resources")
	s.known[ref] = nil
	data, whole := s.f.decodeSome(nil, o, max(s.data, 0))
	if err := s.spend(len(data)); err != nil {
		return streamState{}, err
	}
	var out streamState
	if !own.IsNull() {
		resources = own // otherwise use the resources of the painting content, which have already been examined
		out, err = s.inResources(ctx, own, level)
	}
	if err == nil {
		err = s.content(ctx, data, whole, resources, level, &out)
	}
	s.known[ref] = &out
	return out, err
}

// eachAppearance calls its callback for each appearance stream, in every state of the annotation (12.5.5).
func (s *OpenState) eachAppearance(ctx context.Context, appearances []Value, do func(Value) error) error {
	for _, v := range appearances {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := OptionalDict(s.f, v)
		if err != nil {
			return err
		}
		for _, e := range d {
			streams := Dict{e}
			if one, err := IsStream(s.f, e.Value); err != nil {
				return err
			} else if !one { // a subdictionary with a stream for each state
				if streams, err = OptionalDict(s.f, e.Value); err != nil {
					return err
				}
			}
			for _, one := range streams {
				if err := do(one.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *OpenState) spend(n int) error {
	if s.data -= int64(n); s.data < 0 {
		return fmt.Errorf("%w: too much content", ErrLimit)
	}
	return nil
}

// content adds the state that results from one content stream.
func (s *OpenState) content(ctx context.Context, data []byte, whole bool, own Value, level int, all *streamState) error {
	res := &resources{f: s.f, value: own}
	plain, open, depth := whole, 0, 0
	shifted, lost, selected := false, false, false // graphics state may differ between programs; font may differ; a font was selected
	var last Value
	var failed error
	err := tokens(ctx, data, func(v Value) {
		last = v
		if c := v[0]; c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.' {
			_, number := decimal(v)
			plain = plain && number // some programs find an operator after the digits
		}
	}, func(op string) bool {
		plain = plain && isOperator(op) // some programs find an operator at the start of a longer token
		switch op {
		case "BMC", "BDC":
			open++
		case "EMC":
			open = max(open-1, 0)
		case "q":
			depth++
		case "Q":
			if depth--; depth < 0 {
				depth, all.surplus = 0, true
				shifted = shifted || level > 0
			}
			lost = shifted
		case "Tf":
			lost, selected = false, true
		case "Tj", "TJ", "'", `"`:
			all.breaks, all.inherits = all.breaks || lost, all.inherits || !selected
		case "Do":
			var form streamState
			form, failed = s.painted(ctx, res, last, level)
			all.add(form)
			all.breaks, all.inherits = all.breaks || lost && form.inherits, all.inherits || form.inherits && !selected
			shifted, lost = shifted || form.surplus, lost || form.surplus
		}
		last = nil
		return failed == nil && (open+all.open <= maxSequences || !s.layered)
	}, func() { plain = false }, func() { plain = false })
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	all.open += open
	if !s.layered {
		all.open = 0
		return nil
	}
	if !plain { // programs may disagree on what is image data and what is content
		if all.open, err = s.mostOfForms(ctx, res, level); err != nil {
			return err
		}
		all.open *= bytes.Count(data, []byte("Do"))
		all.open += bytes.Count(data, []byte("BMC")) + bytes.Count(data, []byte("BDC"))
	}
	if all.open > maxSequences {
		return fmt.Errorf("%w: more than %d open marked-content sequences", ErrLimit, maxSequences)
	}
	return nil
}

// painted returns the state that results from a form painted by the content.
func (s *OpenState) painted(ctx context.Context, res *resources, name Value, level int) (streamState, error) {
	key, ok := name.Name()
	if !ok {
		return streamState{}, nil
	}
	v, err := res.get("XObject", key)
	if err != nil {
		return streamState{}, err
	}
	return s.stream(ctx, v, res.value, level+1)
}

// mostOfForms returns the maximum number of sequences that any form in the resources leaves open.
func (s *OpenState) mostOfForms(ctx context.Context, res *resources, level int) (int, error) {
	most := 0
	err := s.each(res.value, "XObject", func(v Value) error {
		form, err := s.stream(ctx, v, res.value, level+1)
		most = max(most, form.open)
		return err
	})
	return most, err
}

// each calls its callback with every resource of the given type.
func (s *OpenState) each(own Value, kind string, do func(v Value) error) error {
	lookup := &Lookup{File: s.f}
	own = lookup.Value(own)
	named := lookup.Value(lookup.Dict(own).Get(kind))
	if err := s.spend((len(own) + len(named)) / bytesPerWork); err != nil {
		return err
	}
	for _, e := range lookup.Dict(named) {
		if err := do(e.Value); err != nil {
			return err
		}
	}
	return lookup.Err
}

// maskOf returns the group of a graphics state's soft mask, or nil if there is none.
func (s *OpenState) maskOf(v Value) (Value, error) {
	ref, isRef := v.Ref()
	if group, known := s.state[ref]; known && isRef {
		return group, nil
	}
	lookup := &Lookup{File: s.f}
	var group Value
	if mask := lookup.Dict(lookup.Dict(v).Get("SMask")); mask != nil {
		if group = bytes.Clone(mask.Get("G")); group == nil {
			group = Value("null")
		}
	}
	if isRef {
		s.state[ref] = group
	}
	return group, lookup.Err
}

// inResources examines content that may be executed any number of times, such as glyphs, pattern tiles and soft masks.
// None of it may leave marked content open.
func (s *OpenState) inResources(ctx context.Context, own Value, level int) (all streamState, err error) {
	if level > maxNested && !s.layered {
		return all, nil
	}
	if level > maxNested {
		return all, fmt.Errorf("%w: nested too deeply", ErrLimit)
	}
	lookup := &Lookup{File: s.f}
	balanced := func(v, resources Value) error {
		left, err := s.stream(ctx, v, resources, level+1)
		if err == nil && left.open > 0 && s.layered {
			err = fmt.Errorf("%w: a glyph, pattern or mask does not close a marked-content sequence", ErrLimit)
		}
		left.open = 0
		all.add(left)
		return err
	}
	err = s.each(own, "Font", func(v Value) error {
		ref, ok := v.Ref()
		if !ok || s.fonts[ref] {
			return nil
		}
		s.fonts[ref] = true
		font := lookup.Dict(v)
		if !lookup.Value(font.Get("Subtype")).IsName("Type3") {
			return nil
		}
		resources := font.Get("Resources")
		if resources.IsNull() {
			resources = own
		}
		for _, glyph := range lookup.Dict(font.Get("CharProcs")) {
			if err := balanced(glyph.Value, resources); err != nil {
				return err
			}
		}
		if font.Get("Resources").IsNull() {
			return nil
		}
		left, err := s.inResources(ctx, resources, level+1)
		all.add(left)
		return err
	})
	if err != nil {
		return all, err
	}
	if err := s.each(own, "Pattern", func(v Value) error { return balanced(v, own) }); err != nil {
		return all, err
	}
	err = s.each(own, "ExtGState", func(v Value) error {
		mask, err := s.maskOf(v)
		if err != nil {
			return err
		}
		all.masked = all.masked || mask != nil
		return balanced(mask, own)
	})
	return all, cmp.Or(err, lookup.Err)
}
