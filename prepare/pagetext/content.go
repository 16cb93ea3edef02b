package pagetext

import (
	"context"
	"fmt"
	"math"
	"strings"

	"countersign/seal/pdf"
)

// matrix is a transformation [a b c d e f] (8.3.3).
type matrix [6]float64

// times returns the matrix that applies first m, then n (8.3.4).
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// toShown maps user space to points from the top left corner of the page as shown.
func toShown(g pdf.Geometry) matrix {
	m := matrix(g.ToUser())
	det := m[0]*m[3] - m[1]*m[2]
	inverse := matrix{m[3] / det, -m[1] / det, -m[2] / det, m[0] / det, 0, 0}
	inverse[4] = -(m[4]*inverse[0] + m[5]*inverse[2])
	inverse[5] = -(m[4]*inverse[1] + m[5]*inverse[3])
	_, h := g.Size()
	return inverse.times(matrix{1, 0, 0, -1, 0, h})
}

// Reader reads the text of a file's pages. It keeps fonts from one page to the
// next. It is not safe for concurrent use.
type Reader struct {
	f      *pdf.File
	fonts  map[pdf.Ref]*face
	hidden map[pdf.Ref]bool // optional content groups that are off (8.11)
	glyphs int              // of the last page: the next may have as many
}

// NewReader returns a reader of a file.
func NewReader(f *pdf.File) *Reader {
	return &Reader{f: f, fonts: make(map[pdf.Ref]*face), hidden: hiddenGroups(f)}
}

// hiddenGroups returns the optional content groups that are not shown at first.
func hiddenGroups(f *pdf.File) map[pdf.Ref]bool {
	hidden := make(map[pdf.Ref]bool)
	cat, _, err := f.Catalog()
	if err != nil {
		return hidden
	}
	properties := dict(f, cat.Get("OCProperties"))
	config := dict(f, properties.Get("D"))
	if config.Get("BaseState").IsName("OFF") {
		for _, v := range array(f, properties.Get("OCGs")) {
			if ref, ok := v.Ref(); ok {
				hidden[ref] = true
			}
		}
		for _, v := range array(f, config.Get("ON")) {
			if ref, ok := v.Ref(); ok {
				delete(hidden, ref)
			}
		}
	}
	for _, v := range array(f, config.Get("OFF")) {
		if ref, ok := v.Ref(); ok {
			hidden[ref] = true
		}
	}
	return hidden
}

// Page reads the text of a page. It fails with ErrLimit, with the context's
// error, or with one of reading the file (pdf.ErrDamaged, pdf.ErrLimit). Content
// that does not follow the standard is read as far as it can be.
func (r *Reader) Page(ctx context.Context, p *pdf.Page) (*Page, error) {
	g, err := r.f.Geometry(p)
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", p.Index+1, err)
	}
	out := &Page{Index: p.Index, Glyphs: make([]Glyph, 0, r.glyphs)}
	out.Width, out.Height = g.Size()
	data, err := r.Content(p)
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, r: r, page: out, left: maxContent - len(data), active: make(map[pdf.Ref]bool)}
	if err := w.run(data, pdf.Ref{}, p.Resources, newState(toShown(g)), 0); err != nil {
		return nil, fmt.Errorf("page %d: %w", p.Index+1, err)
	}
	r.glyphs = len(out.Glyphs)
	return out, nil
}

// Content returns a page's own content, decoded: what Position counts in. It fails
// with ErrLimit, or with an error of reading the file.
func (r *Reader) Content(p *pdf.Page) ([]byte, error) {
	contents, err := r.f.Contents(p.Dict)
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", p.Index+1, err)
	}
	var data []byte
	for _, v := range contents {
		o, ok := stream(r.f, v)
		if !ok {
			continue
		}
		b, err := r.f.StreamData(o)
		if err != nil {
			return nil, fmt.Errorf("page %d: content: %w", p.Index+1, err)
		}
		if len(data)+len(b) > maxContent {
			return nil, fmt.Errorf("%w: page %d has too much content", ErrLimit, p.Index+1)
		}
		if data == nil {
			data = b
		} else {
			data = append(append(data, '\n'), b...)
		}
	}
	return data, nil
}

// state is the part of the graphics state that text depends on (8.4, 9.3).
type state struct {
	ctm                     matrix // to points of the page as shown
	font                    *face
	size, char, word, scale float64
	leading, rise           float64
	mode                    int
}

func newState(ctm matrix) state { return state{ctm: ctm, scale: 1} }

// walk interprets the content of a page.
type walk struct {
	ctx       context.Context //nolint:containedctx // of one call
	r         *Reader
	page      *Page
	operators int
	left      int // bytes of forms that may still be read
	forms     int
	active    map[pdf.Ref]bool // forms being painted
	marks     []mark
	off       int // marks that are not shown
}

// mark is a sequence of marked content (14.6).
type mark struct {
	first  int    // glyph
	actual string // ActualText (14.9.4), if replaces
	replaces,
	hidden bool
}

// run interprets one content stream.
func (w *walk) run(b []byte, form pdf.Ref, resources pdf.Value, g state, level int) error {
	s := &interpreter{walk: w, scanner: scanner{b: b}, form: form, resources: dict(w.r.f, resources), g: g, level: level}
	s.kinds = make(map[string]pdf.Dict)
	s.tm, s.tlm = matrix{1, 0, 0, 1}, matrix{1, 0, 0, 1}
	marks := len(w.marks)
	for {
		op, ok := s.next()
		if !ok {
			break
		}
		if w.operators++; w.operators > maxOperators {
			return fmt.Errorf("%w: too many operators", ErrLimit)
		}
		if w.operators%4096 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err := s.operator(op); err != nil {
			return err
		}
	}
	for len(w.marks) > marks { // left open
		w.endMark()
	}
	return nil
}

func (w *walk) endMark() {
	if len(w.marks) == 0 {
		return
	}
	m := w.marks[len(w.marks)-1]
	w.marks = w.marks[:len(w.marks)-1]
	if m.hidden {
		w.off--
	}
	if m.replaces {
		w.page.replace(m.first, m.actual)
	}
}

// replace gives the glyphs from first on another text: a character each if the
// numbers agree, else all to the first.
func (p *Page) replace(first int, text string) {
	glyphs := p.Glyphs[first:]
	if len(glyphs) == 0 {
		return
	}
	runes := []rune(strings.Trim(text, "\x00"))
	each := len(runes) == len(glyphs)
	for i := range glyphs {
		glyphs[i].Known = true
		switch {
		case each:
			glyphs[i].Text = normal(string(runes[i]))
		case i == 0:
			glyphs[i].Text = normal(string(runes))
		default:
			glyphs[i].Text = ""
		}
	}
}

// interpreter is a content stream being interpreted.
type interpreter struct {
	*walk
	scanner

	form      pdf.Ref
	resources pdf.Dict
	kinds     map[string]pdf.Dict // of resources, by category
	g         state
	saved     []state
	tm, tlm   matrix
	level     int
}

// n returns the operand at a place from the left as a number.
func (s *interpreter) n(i int) float64 {
	if i < len(s.operands) {
		return s.operands[i].number()
	}
	return 0
}

func (s *interpreter) operator(op string) error {
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
		if len(s.operands) == 6 {
			s.g.ctm = s.matrix().times(s.g.ctm)
		}
	case "BT":
		s.tm, s.tlm = matrix{1, 0, 0, 1}, matrix{1, 0, 0, 1}
	case "Tc":
		s.g.char = s.n(0)
	case "Tw":
		s.g.word = s.n(0)
	case "Tz":
		s.g.scale = s.n(0) / 100
	case "TL":
		s.g.leading = s.n(0)
	case "Ts":
		s.g.rise = s.n(0)
	case "Tr":
		s.g.mode = int(s.n(0))
	case "Tf":
		return s.setFont()
	case "Td":
		s.move(s.n(0), s.n(1))
	case "TD":
		s.g.leading = -s.n(1)
		s.move(s.n(0), s.n(1))
	case "Tm":
		if len(s.operands) == 6 {
			s.tlm = s.matrix()
			s.tm = s.tlm
		}
	case "T*":
		s.move(0, -s.g.leading)
	case "Tj", "'", "\"", "TJ":
		return s.showText(op)
	case "Do":
		return s.paint()
	case "EI", "ID":
		if s.off == 0 && op == "ID" {
			s.page.Images++
		}
	case "BMC":
		s.marks = append(s.marks, mark{first: len(s.page.Glyphs)})
	case "BDC":
		s.beginMark()
	case "EMC":
		s.endMark()
	case "gs":
		return s.extGState()
	}
	return nil
}

func (s *interpreter) matrix() (m matrix) {
	for i := range m {
		m[i] = s.n(i)
	}
	return m
}

func (s *interpreter) move(x, y float64) {
	s.tlm = matrix{1, 0, 0, 1, x, y}.times(s.tlm)
	s.tm = s.tlm
}

// resource returns a resource by kind and the name that the operand is.
func (s *interpreter) resource(kind string, i int) pdf.Value {
	if i >= len(s.operands) {
		return nil
	}
	name, ok := s.operands[i].value.Name()
	if !ok {
		return nil
	}
	d, ok := s.kinds[kind]
	if !ok {
		d = dict(s.r.f, s.resources.Get(kind))
		s.kinds[kind] = d
	}
	return d.Get(name)
}

func (s *interpreter) setFont() error {
	if len(s.operands) < 2 {
		return nil
	}
	s.g.size = s.n(1)
	return s.useFont(s.resource("Font", 0))
}

func (s *interpreter) useFont(v pdf.Value) error {
	ref, isRef := v.Ref()
	if isRef {
		if a, ok := s.r.fonts[ref]; ok {
			s.g.font = a
			return nil
		}
	}
	d := dict(s.r.f, v)
	if d == nil { // readers take another font
		d = pdf.Dict{{Key: "Subtype", Value: pdf.Value("/Type1")}, {Key: "BaseFont", Value: pdf.Value("/Helvetica")}}
	}
	a, err := readFont(s.r.f, d)
	if err != nil {
		return err
	}
	s.g.font = a
	if isRef {
		if len(s.r.fonts) >= maxFonts {
			clear(s.r.fonts)
		}
		s.r.fonts[ref] = a
	}
	return nil
}

// extGState takes the font that a graphics state may set (8.4.5).
func (s *interpreter) extGState() error {
	v := dict(s.r.f, s.resource("ExtGState", 0)).Get("Font")
	if v == nil {
		return nil
	}
	if a := array(s.r.f, v); len(a) == 2 {
		s.g.size, _ = num(s.r.f, a[1])
		return s.useFont(a[0])
	}
	return nil
}

func (s *interpreter) beginMark() {
	m := mark{first: len(s.page.Glyphs)}
	if len(s.operands) == 2 {
		var properties pdf.Dict
		var v pdf.Value
		if s.operands[1].value.IsDict() {
			properties, _ = s.operands[1].value.Dict()
		} else {
			v = s.resource("Properties", 1)
			properties = dict(s.r.f, v)
		}
		if ref, ok := v.Ref(); ok && s.operands[0].value.IsName("OC") {
			m.hidden = s.r.hidden[ref]
		}
		if b, ok := properties.Get("ActualText").Bytes(); ok && len(b) <= 4096 {
			m.actual, m.replaces = pdf.DecodeText(b), true
		}
	}
	if m.hidden {
		s.off++
	}
	if len(s.marks) < maxSaved {
		s.marks = append(s.marks, m)
	}
}

// paint paints an XObject (8.8).
func (s *interpreter) paint() error {
	ref, ok := s.resource("XObject", 0).Ref()
	if !ok || s.off > 0 || s.active[ref] {
		return nil
	}
	o, err := s.r.f.Object(ref)
	if err != nil || !o.IsStream() {
		return err
	}
	d, err := o.Value.Dict()
	if err != nil {
		return nil //nolint:nilerr // readers show nothing
	}
	if oc, ok := d.Get("OC").Ref(); ok && s.r.hidden[oc] {
		return nil
	}
	if d.Get("Subtype").IsName("Image") {
		s.page.Images++
		return nil
	}
	if !d.Get("Subtype").IsName("Form") {
		return nil
	}
	if s.level >= maxForms || s.forms >= maxOperators/100 {
		return fmt.Errorf("%w: too many forms in forms", ErrLimit)
	}
	b, err := s.r.f.StreamData(o)
	if err != nil {
		return err
	}
	s.forms++
	if s.left -= len(b); s.left < 0 {
		return fmt.Errorf("%w: too much content", ErrLimit)
	}
	g := s.g
	if a := array(s.r.f, d.Get("Matrix")); len(a) == 6 {
		var m matrix
		for i := range m {
			m[i], _ = num(s.r.f, a[i])
		}
		g.ctm = m.times(g.ctm)
	}
	s.active[ref] = true
	defer delete(s.active, ref)
	resources := d.Get("Resources")
	if resources.IsNull() { // as old files have it
		resources = s.resources.Value()
	}
	return s.run(b, ref, resources, g, s.level+1)
}

// showText shows strings (9.4.3).
func (s *interpreter) showText(op string) error {
	if len(s.operands) == 0 {
		return nil
	}
	last := s.operands[len(s.operands)-1]
	switch op {
	case "'", "\"":
		if op == "\"" && len(s.operands) >= 3 {
			s.g.word, s.g.char = s.n(0), s.n(1)
		}
		s.move(0, -s.g.leading)
	case "TJ":
		var err error
		last.elements(func(o operand) {
			if n, ok := decimal(o.value); ok {
				s.advance(-n / 1000 * s.g.size)
			} else if err == nil {
				err = s.show(o)
			}
		})
		return err
	}
	return s.show(last)
}

// advance moves on in the direction of writing, in unscaled text space units.
func (s *interpreter) advance(by float64) {
	x, y := by*s.g.scale, 0.0
	if s.g.font != nil && s.g.font.vertical {
		x, y = 0, by
	}
	s.tm[4] += x*s.tm[0] + y*s.tm[2]
	s.tm[5] += x*s.tm[1] + y*s.tm[3]
}

// show shows one string.
func (s *interpreter) show(o operand) error {
	b, ok := o.value.Bytes()
	if !ok {
		return nil
	}
	a := s.g.font
	if a == nil {
		return nil
	}
	for i := 0; i < len(b); {
		n := max(1, a.next(b[i:]))
		code := b[i : i+n]
		width := a.width(code)
		step := width*s.g.size + s.g.char
		if a.vertical {
			step = a.down[1]/1000*s.g.size + s.g.char
		}
		if n == 1 && code[0] == ' ' {
			step += s.g.word
		}
		if s.off == 0 {
			if len(s.page.Glyphs) >= maxGlyphs {
				return fmt.Errorf("%w: too many characters", ErrLimit)
			}
			at := Position{Form: s.form, Start: o.start, End: o.start + len(o.value), Code: i, Length: n}
			if s.g.size != 0 {
				at.Advance = step / s.g.size * 1000
			}
			s.add(a, code, width, at)
		}
		s.advance(step)
		i += n
	}
	return nil
}

// add adds a glyph at the current position.
func (s *interpreter) add(a *face, code []byte, width float64, at Position) {
	m := matrix{s.g.size * s.g.scale, 0, 0, s.g.size, 0, s.g.rise}.times(s.tm).times(s.g.ctm)
	x0, y0, x1, y1 := 0.0, a.descent, width, a.ascent
	along := [2]float64{1, 0} // the direction of writing, in glyph space
	if a.vertical {
		x0, x1 = -width/2, width/2
		y0, y1 = a.down[1]/1000, 0
		along = [2]float64{0, -1}
	}
	box := [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range [4][2]float64{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} {
		x, y := m.apply(c[0], c[1])
		box = [4]float64{min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)}
	}
	cx, cy := (box[0]+box[2])/2, (box[1]+box[3])/2
	if !(cx >= 0 && cy >= 0 && cx <= s.page.Width && cy <= s.page.Height) { // not shown, or no number
		return
	}
	dx, dy := along[0]*m[0]+along[1]*m[2], along[0]*m[1]+along[1]*m[3]
	g := Glyph{
		Box: Box{box[0], box[1], box[2] - box[0], box[3] - box[1]}, Size: math.Hypot(m[2], m[3]), Angle: angle(dx, dy),
		Invisible: s.g.mode == 3 || s.g.mode == 7, Position: at,
	}
	g.Text, g.Known = a.text(code)
	length := width * math.Hypot(dx, dy)
	if a.vertical {
		length = -a.down[1] / 1000 * math.Hypot(dx, dy)
		g.Size = math.Hypot(m[0], m[1])
	}
	if scale := math.Hypot(dx, dy); scale > 0 {
		ux, uy := dx/scale, dy/scale
		g.along, g.across = m[4]*ux+m[5]*uy, -m[4]*uy+m[5]*ux
	}
	g.end = g.along + length
	s.page.Glyphs = append(s.page.Glyphs, g)
}

// angle returns a direction in degrees, clockwise as y points down.
func angle(dx, dy float64) int {
	return (int(math.Round(math.Atan2(dy, dx)*180/math.Pi)) + 360) % 360
}

// Shown returns the box on the page as shown of one in user space.
func Shown(g pdf.Geometry, b pdf.Box) Box {
	m := toShown(g)
	x0, y0 := m.apply(b.X0, b.Y0)
	x1, y1 := m.apply(b.X1, b.Y1)
	return Box{min(x0, x1), min(y0, y1), math.Abs(x1 - x0), math.Abs(y1 - y0)}
}
