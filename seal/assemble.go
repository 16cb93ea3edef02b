package seal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"countersign/seal/pdf"
	"countersign/seal/text"
)

// assembly builds everything that follows the original in the sealed file.
type assembly struct {
	job      *Job
	cfg      *Config
	file     *pdf.File // nil if the original is embedded in a fresh document
	w        *pdf.Increment
	t        *typesetter
	tags     *tagger // nil if the original is not tagged
	contents int     // bytes reserved for the signature
	signer   string
	nonce    string // tells our names from the original's
	// valuesOnly leaves out the line at the foot, and pages without values: for a reading copy.
	valuesOnly bool

	pages     int
	paper     [2]float64
	certPages []pdf.Ref
	record    []byte // seal.json
	recordRef pdf.Ref
	// What the signature's dictionary says besides: see sealMark.
	originalAt            int64 // in a document of its own
	chain, stamp, issuers string

	sig signaturePlace
}

// signaturePlace says where in the file the signature's placeholders are.
type signaturePlace struct {
	byteRange   int64 // where its second number goes
	contents    int64 // of "<"
	contentsEnd int64 // after ">"
}

const byteRangeWidth = 3*10 + 2 // three numbers of at most ten digits, and blanks

// A4 and US Letter, in points.
const (
	a4Width, a4Height         = 595.28, 841.89
	letterWidth, letterHeight = 612, 792
)

func (s *Sealer) newAssembly(job *Job, w *pdf.Increment, f *pdf.File) (*assembly, error) {
	var nonce [8]byte
	if _, err := io.ReadFull(s.cfg.Rand, nonce[:]); err != nil {
		return nil, err
	}
	a := &assembly{
		job: job, cfg: &s.cfg, file: f, w: w, nonce: hex.EncodeToString(nonce[:]), paper: [2]float64{a4Width, a4Height},
		contents: s.contents, signer: s.name, chain: s.chain, stamp: s.stamp,
		t: &typesetter{lib: library(), fonts: text.NewEmbedder(), w: w, inks: map[string]placed{}, ahead: prepareAhead(job, &s.codes)},
	}
	a.t.font = w.Reserve()
	return a, nil
}

// build writes pages, certificate, attachment and signature; original is the
// embedded file if there is no file to draw on.
func (a *assembly) build(original *pdf.Ref) error {
	var root, parent pdf.Ref
	var catalog pdf.Dict
	if a.file == nil {
		root, parent = a.w.Reserve(), a.w.Reserve()
		catalog = pdf.Dict{{Key: "Type", Value: pdf.Value("/Catalog")}, {Key: "Pages", Value: parent.Value()}}
	} else {
		var err error
		if catalog, root, err = a.file.Catalog(); err != nil {
			return err
		}
		parent, _ = catalog.Get("Pages").Ref()
		a.tags = newTagger(a.file, a.w, catalog)
		if err := a.drawOnPages(); err != nil {
			return err
		}
	}
	field, sigRef := a.w.Reserve(), a.w.Reserve()
	if err := a.writeCertificate(parent, field, sigRef); err != nil {
		return err
	}
	if err := a.writePageTree(parent); err != nil {
		return err
	}
	if err := a.writeCatalog(root, catalog, field, sigRef, original); err != nil {
		return err
	}
	if a.tags != nil {
		if err := a.tags.finish(); err != nil {
			return err
		}
	}
	if err := a.t.fonts.Write(a.w, a.t.font); err != nil {
		return err
	}
	a.writeSignature(sigRef)
	id, err := hex.DecodeString(a.job.OriginalSHA256[:16] + a.nonce)
	if err != nil {
		return err
	}
	return a.w.Finish(root, nil, id)
}

// drawOnPages draws the values and the line at the foot of every page.
func (a *assembly) drawOnPages() error {
	var line pdf.Ref
	var lineWidth float64
	var err error
	if !a.valuesOnly {
		if line, lineWidth, err = a.t.sealLine(a.job, a.cfg.ServiceName); err != nil {
			return err
		}
	}
	values := map[int][]Value{}
	for _, v := range a.job.Values {
		values[v.Page-1] = append(values[v.Page-1], v)
	}
	names := map[string]string{}
	for _, s := range a.job.Signers {
		names[s.ID] = s.Name
	}
	p := &painter{
		assembly: a, line: line, lineWidth: lineWidth, values: values, signers: names,
		open: a.w.AddStream(nil, []byte("q\n")), marks: map[pdf.Geometry]pdf.Ref{}, resources: map[pdf.Ref]pdf.Value{},
	}
	pages := min(max(a.job.Document.PageCount, 0), pdf.DefaultLimits().MaxPages)
	a.w.Grow(pages+usualObjects, pages*rewrittenPage)
	a.pages, err = a.file.Walk(p.page)
	if err != nil {
		return err
	}
	for page, v := range values {
		if page < 0 || page >= a.pages {
			return &Refusal{FieldOffPage, fmt.Sprintf("Field %s is on page %d, but the document has %s.", v[0].FieldID, page+1, plural(a.pages, "page"))}
		}
	}
	return nil
}

// rewrittenPage is how many bytes a page with the line takes, roughly.
const rewrittenPage = 280

// usualObjects is how many objects are added besides the pages, roughly.
const usualObjects = 64

// maxAdded bounds what is added to a file, in bytes: it is made in memory.
const maxAdded = 32 << 20

// maxOpenStates bounds the graphics states that are closed for a page.
const maxOpenStates = 4096

// painter rewrites the pages.
type painter struct {
	*assembly
	line      pdf.Ref
	lineWidth float64
	values    map[int][]Value
	signers   map[string]string
	open      pdf.Ref                  // the stream "q"
	marks     map[pdf.Geometry]pdf.Ref // what draws the line on pages of one geometry
	resources map[pdf.Ref]pdf.Value    // resources with the line added, by where the original ones stand
	last      measured
	buf, res  []byte   // used again for each page
	dict      pdf.Dict // likewise
}

// page writes a page anew: its content between q and Q, then what is drawn.
func (p *painter) page(page *pdf.Page) error {
	if p.valuesOnly && p.values[page.Index] == nil {
		return nil
	}
	if err := p.measure(page); err != nil {
		return err
	}
	g := p.last.geometry
	w, h := g.Size()
	if page.Index == 0 && math.Abs(w-letterWidth) < 3 && math.Abs(h-letterHeight) < 3 {
		p.paper = [2]float64{letterWidth, letterHeight}
	}
	contents, err := p.file.Contents(page.Dict)
	if err != nil {
		return err
	}
	mark, added := p.last.mark, p.line
	var stamp *pdf.Ref
	if v := p.values[page.Index]; v != nil {
		if stamp, mark, err = p.stamped(page.Ref, v, g, contents); err != nil {
			return err
		}
	}
	res, err := p.withXObjects(page, added, stamp)
	if err != nil {
		return err
	}
	b := append(p.buf[:0], "<<"...)
	for _, e := range page.Dict {
		if e.Key != "Contents" && e.Key != "Resources" {
			b = pdf.AppendName(b, e.Key)
			b = append(b, ' ')
			b = append(b, e.Value...)
			b = append(b, '\n')
		}
	}
	b = append(b, "/Contents["...)
	b = p.open.Append(b)
	for _, c := range contents {
		b = append(b, ' ')
		b = append(b, c...)
	}
	b = append(b, ' ')
	b = mark.Append(b)
	b = append(b, "]\n/Resources "...)
	b = append(b, res...)
	b = append(b, ">>"...)
	p.w.Put(page.Ref, b)
	p.buf = b
	if p.w.Offset()-p.job.Size > maxAdded {
		return fmt.Errorf("%w: writing the pages anew takes too much", pdf.ErrLimit)
	}
	return nil
}

// measured is the geometry of the page seen last. Most documents have one for
// all pages, and then it is read once.
type measured struct {
	boxes    [4]string // MediaBox, CropBox, Rotate, UserUnit as written
	geometry pdf.Geometry
	mark     pdf.Ref // what draws the line on such pages
}

func (p *painter) measure(page *pdf.Page) error {
	boxes := [4]pdf.Value{page.MediaBox, page.CropBox, page.Rotate, page.Dict.Get("UserUnit")}
	same := p.last.mark.Num != 0
	for i, b := range boxes {
		same = same && string(b) == p.last.boxes[i]
	}
	if same {
		return nil
	}
	g, err := p.file.Geometry(page)
	if err != nil {
		return err
	}
	mark, ok := p.marks[g]
	if !ok {
		mark = p.w.AddStream(nil, p.drawing(g, false))
		p.marks[g] = mark
	}
	p.last = measured{geometry: g, mark: mark}
	for i, b := range boxes {
		p.last.boxes[i] = string(b)
	}
	return nil
}

// stamped draws the values of a page and returns the form and what paints it.
func (p *painter) stamped(page pdf.Ref, v []Value, g pdf.Geometry, contents []pdf.Value) (*pdf.Ref, pdf.Ref, error) {
	w, h := g.Size()
	form, err := p.stamp(page, v, w, h)
	if err != nil {
		return nil, pdf.Ref{}, err
	}
	// Graphics states that the content leaves open would move our drawing.
	open, err := p.file.Unbalanced(contents)
	if err != nil {
		return nil, pdf.Ref{}, err
	}
	b := append(bytes.Repeat([]byte("\nQ"), min(open, maxOpenStates)), p.drawing(g, true)...)
	return &form, p.w.AddStream(nil, b), nil
}

func (p *painter) name(kind string) string { return "Cs" + kind + p.nonce }

// stamp draws the values of one page as a form of the page's size as shown.
func (p *painter) stamp(page pdf.Ref, values []Value, w, h float64) (pdf.Ref, error) {
	c := p.t.canvas(w, h)
	var marks []mark
	for _, v := range values {
		if v.empty() {
			continue
		}
		m := markOf(v, p.signers[v.SignerID])
		if p.tags != nil {
			c.b = m.begin(c.b, len(marks))
		}
		err := drawValue(c, v, p.signers[v.SignerID])
		var missing *text.MissingGlyphError
		if errors.As(err, &missing) {
			return pdf.Ref{}, &Refusal{GlyphMissing, "Field " + v.FieldID + ": " + glyphMissing(missing).Message}
		}
		if err != nil {
			return pdf.Ref{}, fmt.Errorf("field %s: %w", v.FieldID, err)
		}
		if p.tags != nil {
			c.b = append(c.b, "EMC\n"...)
			marks = append(marks, m)
		}
	}
	if len(marks) == 0 {
		return c.form()
	}
	number := p.tags.take()
	form, err := c.form(pdf.Entry{Key: "StructParents", Value: pdf.Value(strconv.FormatInt(number, 10))})
	p.tags.add(number, page, &form, marks)
	return form, err
}

// empty reports whether there is nothing to draw.
func (v *Value) empty() bool {
	switch v.Kind {
	case Signature, Initial:
		return len(v.PNG) == 0
	case Checkbox:
		return !v.Checked
	case Date, Text:
		return v.Text == ""
	}
	return false
}

// drawing returns the operators that end the original content and paint ours.
func (p *painter) drawing(g pdf.Geometry, stamped bool) []byte {
	b := []byte("\nQ\n")
	m := g.ToUser()
	if stamped {
		b = appendPaint(b, m, p.name("S"))
	}
	if p.valuesOnly {
		return b
	}
	w, _ := g.Size()
	k := min(1, (w-2*sealLineMargin)/p.lineWidth)
	if k > 0.1 {
		b = appendPaint(b, concat(pdf.Matrix{k, 0, 0, k, sealLineMargin, sealLineFoot}, m), p.name("L"))
	}
	return b
}

func appendPaint(b []byte, m pdf.Matrix, name string) []byte {
	b = append(b, "q "...)
	for _, n := range m {
		b = strconv.AppendFloat(b, n, 'f', -1, 64)
		b = append(b, ' ')
	}
	b = append(b, "cm "...)
	b = pdf.AppendName(b, name)
	return append(b, " Do Q\n"...)
}

// concat returns the matrix that applies first a, then b (8.3.4).
func concat(a, b pdf.Matrix) pdf.Matrix {
	return pdf.Matrix{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
		a[4]*b[0] + a[5]*b[2] + b[4], a[4]*b[1] + a[5]*b[3] + b[5],
	}
}

// withXObjects returns a page's resources with line and stamp added, valid
// until the next call. They are cloned: the same dictionary may serve other
// pages. Pages that share a dictionary and get no stamp share the clone.
func (p *painter) withXObjects(page *pdf.Page, line pdf.Ref, stamp *pdf.Ref) (pdf.Value, error) {
	at, shared := page.Resources.Ref()
	if !shared && page.ResourcesOf != page.Ref {
		at, shared = page.ResourcesOf, true
	}
	shared = shared && stamp == nil
	if shared {
		if v, ok := p.resources[at]; ok {
			return v, nil
		}
	}
	res, err := p.file.Resolve(page.Resources)
	if err != nil {
		return nil, err
	}
	d, err := optionalDict(res, p.dict[:0])
	if err != nil {
		return nil, err
	}
	p.dict = d
	xobjects, err := p.file.Resolve(d.Get("XObject"))
	if err != nil {
		return nil, err
	}
	b := append(p.res[:0], "<<"...)
	for _, e := range d {
		if e.Key != "XObject" {
			b = pdf.AppendName(b, e.Key)
			b = append(b, ' ')
			b = append(b, e.Value...)
			b = append(b, '\n')
		}
	}
	b = append(b, "/XObject<<"...)
	if xobjects.IsDict() {
		b = append(b, xobjects[2:len(xobjects)-2]...)
	} else if !xobjects.IsNull() {
		return nil, fmt.Errorf("%w: XObject resources", pdf.ErrDamaged)
	}
	if !p.valuesOnly {
		b = p.appendResource(b, "L", line)
	}
	if stamp != nil {
		b = p.appendResource(b, "S", *stamp)
	}
	b = append(b, ">>>>"...)
	p.res = b
	if !shared {
		return b, nil
	}
	v := p.w.Add(b).Value()
	p.resources[at] = v
	return v, nil
}

func (p *painter) appendResource(b []byte, kind string, ref pdf.Ref) []byte {
	b = append(b, '/')
	b = append(b, p.name(kind)...)
	b = append(b, ' ')
	return ref.Append(b)
}

// optionalDict returns an empty dictionary for null. It uses the memory of one
// that is not needed any more.
func optionalDict(v pdf.Value, old pdf.Dict) (pdf.Dict, error) {
	if v.IsNull() {
		return old, nil
	}
	d, err := v.DictInto(old)
	if err != nil {
		return nil, fmt.Errorf("%w: resources", pdf.ErrDamaged)
	}
	return d, nil
}
