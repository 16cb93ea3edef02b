package pdf

import (
	"context"
	"errors"
	"math"
	"strings"
)

// otherOperators contains the operators that require no action (Annex A).
var otherOperators = func() map[string]bool {
	all := map[string]bool{}
	for op := range strings.FieldsSeq(`" ' BI BX CS d d0 d1 DP EI EX G h i ID j J K M MP RG ri SC SCN T* Tc Td TD Tf Tj TJ TL Tm Tr Ts Tw Tz w`) {
		all[op] = true
	}
	return all
}()

// isOperator reports whether a token of a content stream is a known operator or a keyword operand.
func isOperator(word string) bool {
	switch word {
	case "q", "Q", "cm", "m", "l", "c", "v", "y", "re", "W", "W*", "n", "s", "S", "f", "F", "B", "b", "f*", "B*", "b*", "g", "rg", "k", "cs", "sc", "scn",
		"gs", "sh", "Do", "BT", "ET", "BMC", "BDC", "EMC", "true", "false", "null":
		return true
	}
	return otherOperators[word]
}

// afterTokens is appended to a content stream to distinguish a complete last token from a truncated one.
const afterTokens = " endobj "

// tokens splits a content stream (7.8.2) into operands and operators. The callback operator is called for each
// operator, and returns false to stop. The callback broken is called where programs may continue differently. An object
// that is still open at the end extends to the end of the content. If an array or dictionary cannot be parsed, its
// content is split instead. Each byte is examined only a few times. The spare capacity of b is overwritten. The only
// possible error is the context's.
func tokens(ctx context.Context, b []byte, operand func(Value), operator func(string) bool, inlineImage, broken func()) error {
	end := len(b)
	b = append(b, afterTokens...)
	within := 0 // end of an array or dictionary that cannot be parsed
	count := 0
	for i := SkipSpace(b, 0); i < end; i = SkipSpace(b, i) {
		if count++; count%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := b[i]
		switch {
		case i < within && c == '[':
			i++
		case i < within && c == '<' && b[i+1] == '<':
			i += 2
		case c == '(' || c == '<' || c == '[' || c == '/':
			next, err := skipValue(b, i, 0)
			if errors.Is(err, errEnd) || next > end {
				broken()
				return nil
			}
			if err != nil {
				broken()
				within = next
				continue
			}
			operand(b[i:next])
			i = next
		case IsDelimiter(c): // unexpected delimiter
			broken()
			i++
		default:
			start := i
			i = skipRegular(b, i)
			token := b[start:i]
			if c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.' {
				operand(token)
				continue
			}
			if string(token) == "ID" { // an inline image, whose data ends at EI between white space (8.9.7)
				inlineImage()
				if i = endOfImage(b, i); i >= end {
					broken()
				}
				continue
			}
			if !operator(string(token)) {
				return nil
			}
		}
	}
	return nil
}

// endOfImage returns the end of an inline image whose data begins after b[i].
func endOfImage(b []byte, i int) int {
	for i++; i+3 < len(b); i++ {
		if IsSpace(b[i-1]) && b[i] == 'E' && b[i+1] == 'I' && (IsSpace(b[i+2]) || IsDelimiter(b[i+2])) {
			return i + 2
		}
	}
	return len(b)
}

// stream holds the interpreter's state for one content stream.
type stream struct {
	reader    *contentReader
	resources *resources
	level     int
	g         graphics
	saved     []graphics
	path      []subpath
	clipping  bool
	curved    bool // whether the path has curves
	operands  []Value
	nums      [6]float64
	text      Matrix // text matrix and text line matrix (9.4.1)
	textLine  Matrix
	err       error
}

const (
	maxOperands = 64
	maxSaved    = 1024
)

func (s *stream) operand(v Value) {
	if len(s.operands) < maxOperands {
		s.operands = append(s.operands, v)
	}
}

// numbers returns the last n operands. n may be at most six. The result is valid until the next call.
func (s *stream) numbers(n int) ([]float64, bool) {
	if len(s.operands) < n || n > len(s.nums) {
		return nil, false
	}
	for i, v := range s.operands[len(s.operands)-n:] {
		var ok bool
		if s.nums[i], ok = decimal(v); !ok {
			return nil, false
		}
	}
	return s.nums[:n], true
}

// decimal parses a number in a content stream.
func decimal(v Value) (n float64, ok bool) {
	negative, scale := false, 0.0
	for i, c := range v {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + float64(c-'0')
			scale *= 10
			ok = true
		case c == '.' && scale == 0:
			scale = 1
		case c == '-' && i == 0:
			negative = true
		case c == '+' && i == 0:
		default:
			return 0, false
		}
	}
	if scale > 1 {
		n /= scale
	}
	if negative {
		n = -n
	}
	return n, ok && math.Abs(n) <= 1e9
}

func (s *stream) operator(op string) {
	switch op {
	case "q":
		if len(s.saved) < maxSaved {
			s.saved = append(s.saved, s.g)
		}
	case "Q":
		if n := len(s.saved); n > 0 {
			s.g, s.saved = s.saved[n-1], s.saved[:n-1]
		}
	case "cm":
		if n, ok := s.numbers(6); ok {
			s.g.ctm = Matrix(n).Times(s.g.ctm)
		}
	case "w":
		if n, ok := s.numbers(1); ok {
			s.g.lineWidth = n[0]
		}
	case "m", "l", "c", "v", "y", "re":
		s.construct(op)
	case "W", "W*":
		s.clipping = true
	case "f", "F", "f*", "B", "b", "B*", "b*":
		s.fill(len(op) == 2)
		s.endPath(op[0] != 'f' && op[0] != 'F')
	case "n", "s", "S":
		s.endPath(op != "n")
	case "g", "rg", "k", "cs", "sc", "scn":
		s.trackFillColor(op)
	case "gs":
		s.extGState()
	case "sh":
		light := s.g.light
		s.g.light = math.NaN()
		s.reader.paint(&s.g, func(_, _ float64) bool { return true })
		s.reader.marks(&s.g, s.g.clip)
		s.g.light = light
	case "Do":
		s.do()
	default:
		if !s.textOperator(op) && !isOperator(op) {
			s.reader.unknown = true
		}
	}
}

// trackFillColor tracks the lightness of the fill color.
func (s *stream) trackFillColor(op string) {
	switch op {
	case "cs":
		if len(s.operands) > 0 {
			s.g.space, _ = s.operands[len(s.operands)-1].Name()
		}
		s.g.light = 0
		return
	case "g":
		s.g.space = "DeviceGray"
	case "rg":
		s.g.space = "DeviceRGB"
	case "k":
		s.g.space = "DeviceCMYK"
	}
	n, ok := s.numbers(len(s.operands))
	s.g.light = math.NaN()
	if !ok {
		return // pattern
	}
	switch len(n) {
	case 1:
		if s.g.space == "DeviceGray" { // in other color spaces, the value may be a tint, of which 1 is the darkest
			s.g.light = n[0]
		}
	case 3:
		s.g.light = 0.3*n[0] + 0.59*n[1] + 0.11*n[2]
	case 4:
		s.g.light = (1 - n[3]) * (1 - min(1, 0.3*n[0]+0.59*n[1]+0.11*n[2]))
	}
}

// resources provides access to a resource dictionary. It reads each type of resource only once, on first use, because
// content can refer to a resource a hundred thousand times.
type resources struct {
	f     *File
	value Value
	dict  Dict // dictionary of value, after the first request
	kinds map[string]map[string]Value
	read  int // number of bytes read
}

// get returns a resource by type and name, or nil if there is none.
func (r *resources) get(kind, name string) (Value, error) {
	named, ok := r.kinds[kind]
	if ok {
		return named[name], nil
	}
	lookup := &Lookup{File: r.f}
	if r.kinds == nil {
		r.kinds = make(map[string]map[string]Value)
		v := lookup.Value(r.value)
		r.read += len(v)
		r.dict = lookup.Dict(v)
	}
	v := lookup.Value(r.dict.Get(kind))
	r.read += len(v)
	all := lookup.Dict(v)
	named = make(map[string]Value, len(all))
	for _, e := range all {
		if _, twice := named[e.Key]; !twice { // the first of several equal keys is used, as in Dict.Get
			named[e.Key] = e.Value
		}
	}
	r.kinds[kind] = named
	return named[name], lookup.Err
}

// resource returns the resource of the given type whose name is the last operand.
func (s *stream) resource(kind string) Value {
	if len(s.operands) == 0 || s.reader.work < 0 {
		return nil
	}
	name, ok := s.operands[len(s.operands)-1].Name()
	if !ok {
		return nil
	}
	before := s.resources.read
	v, _ := s.resources.get(kind, name) // nil if it cannot be read
	s.reader.reads(s.resources.read - before)
	return v
}

// reads subtracts the cost of reading n bytes of dictionaries from the remaining work.
func (r *contentReader) reads(n int) { r.work -= n / bytesPerWork }

const (
	bytesPerWork = 6    // number of dictionary bytes that are read in the time of one comparison
	readForm     = 4096 // cost of reading an empty form, in bytes
)

// extGState records whether painting is transparent (11.6).
func (s *stream) extGState() {
	v, err := s.reader.f.Resolve(s.resource("ExtGState"))
	if err != nil || !v.IsDict() {
		return
	}
	s.reader.reads(len(v))
	d, err := v.Dict()
	if err != nil {
		return
	}
	lookup := &Lookup{File: s.reader.f}
	if ca, ok := lookup.Value(d.Get("ca")).Float(); ok && ca < 1 || lookup.Err != nil {
		s.g.exact = false
	}
	if mode := d.Get("BM"); mode != nil && !mode.IsName("Normal") {
		s.g.exact = false
	}
	if mask := d.Get("SMask"); mask != nil && !mask.IsName("None") {
		s.g.exact = false
	}
}

func (s *stream) inlineImage() {
	s.picture()
	s.operands = s.operands[:0]
}

// picture paints an image, which may be dark.
func (s *stream) picture() {
	light := s.g.light
	s.g.light = math.NaN()
	s.path = append(s.path[:0], nil)
	for _, p := range [][2]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
		x, y := s.g.ctm.Apply(p[0], p[1])
		s.path[0] = append(s.path[0], [2]float64{x, y})
	}
	s.fill(false)
	s.path, s.g.light = s.path[:0], light
}

// do executes the operator Do, which paints an XObject (8.8).
func (s *stream) do() {
	ref, ok := s.resource("XObject").Ref()
	if !ok {
		return
	}
	o, err := s.reader.f.Object(ref)
	if err != nil || !o.IsStream() {
		return
	}
	s.reader.reads(len(o.Value))
	d, err := o.Value.Dict()
	if err != nil {
		return
	}
	lookup := &Lookup{File: s.reader.f}
	kind := lookup.Value(d.Get("Subtype"))
	switch {
	case kind.IsName("Image"):
		if mask := lookup.Value(d.Get("ImageMask")).Bool(); !mask || s.g.light < darkThreshold {
			s.picture()
		} else if s.g.light < whiteThreshold {
			s.reader.taken = true
		}
		return
	case !kind.IsName("Form"):
		return
	case s.level >= maxForms || s.reader.data <= 0:
		s.reader.unknown = true
		return
	}
	s.reader.reads(readForm)
	b, whole := s.reader.f.decodeSome(nil, o, s.reader.data)
	s.reader.data -= int64(len(b))
	s.reader.unknown = s.reader.unknown || !whole || s.reader.data < 0
	g := s.g
	if a, err := s.reader.f.Array(d.Get("Matrix")); err == nil && len(a) == 6 {
		var m Matrix
		for i := range m {
			m[i], _ = lookup.Value(a[i]).Float()
		}
		g.ctm = m.Times(g.ctm)
	}
	own := s.resources // old files have forms without Resources
	if v := d.Get("Resources"); v != nil {
		own = &resources{f: s.reader.f, value: v}
	}
	s.err = s.reader.run(b, own, g, s.level+1)
}
