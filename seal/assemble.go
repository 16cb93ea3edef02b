package seal

import (
	"bytes"
	"encoding/hex"
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
	contents int // bytes reserved for the signature
	signer   string
	nonce    string // tells our names from the original's

	pages     int
	paper     [2]float64
	certPages []pdf.Ref
	certForm  pdf.Ref

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

func newAssembly(job *Job, cfg *Config, lib *text.Library, w *pdf.Increment, f *pdf.File) (*assembly, error) {
	var nonce [8]byte
	if _, err := io.ReadFull(cfg.Rand, nonce[:]); err != nil {
		return nil, err
	}
	a := &assembly{
		job: job, cfg: cfg, file: f, w: w, nonce: hex.EncodeToString(nonce[:]), paper: [2]float64{a4Width, a4Height},
		t: &typesetter{lib: lib, fonts: text.NewEmbedder(), w: w, inks: map[string]pdf.Ref{}},
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
	line, lineWidth, err := a.t.sealLine(a.job, a.cfg.ServiceName)
	if err != nil {
		return err
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
		open: a.w.AddStream(nil, []byte("q\n")), marks: map[pdf.Geometry]pdf.Ref{}, resources: map[string]pdf.Value{},
	}
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
	resources map[string]pdf.Value     // resources with the line added, by the original reference
}

// page writes a page anew: its content between q and Q, then what is drawn.
func (p *painter) page(page *pdf.Page) error {
	g, err := p.file.Geometry(page)
	if err != nil {
		return err
	}
	w, h := g.Size()
	if page.Index == 0 && math.Abs(w-letterWidth) < 3 && math.Abs(h-letterHeight) < 3 {
		p.paper = [2]float64{letterWidth, letterHeight}
	}
	contents, err := p.file.Contents(page.Dict)
	if err != nil {
		return err
	}
	var mark pdf.Ref
	added := pdf.Dict{{Key: p.name("L"), Value: p.line.Value()}}
	if v := p.values[page.Index]; v != nil {
		form, err := p.stamp(v, w, h)
		if err != nil {
			return err
		}
		added.Set(p.name("S"), form.Value())
		// Graphics states that the content leaves open would move our drawing.
		open, err := p.file.Unbalanced(contents)
		if err != nil {
			return err
		}
		mark = p.w.AddStream(nil, append(bytes.Repeat([]byte("\nQ"), min(open, maxOpenStates)), p.drawing(g, true)...))
	} else if ref, ok := p.marks[g]; ok {
		mark = ref
	} else {
		mark = p.w.AddStream(nil, p.drawing(g, false))
		p.marks[g] = mark
	}
	res, err := p.withXObjects(page.Resources, added)
	if err != nil {
		return err
	}
	p.w.Begin(page.Ref)
	p.w.AppendString("<<")
	for _, e := range page.Dict {
		if e.Key != "Contents" && e.Key != "Resources" {
			p.w.Append(pdf.AppendName(nil, e.Key))
			p.w.AppendString(" ")
			p.w.Append(e.Value)
			p.w.AppendString("\n")
		}
	}
	p.w.AppendString("/Contents[")
	p.w.Append(p.open.Value())
	for _, c := range contents {
		p.w.AppendString(" ")
		p.w.Append(c)
	}
	p.w.AppendString(" ")
	p.w.Append(mark.Value())
	p.w.AppendString("]\n/Resources ")
	p.w.Append(res)
	p.w.AppendString(">>")
	p.w.End()
	return nil
}

func (p *painter) name(kind string) string { return "Cs" + kind + p.nonce }

// stamp draws the values of one page as a form of the page's size as shown.
func (p *painter) stamp(values []Value, w, h float64) (pdf.Ref, error) {
	c := p.t.canvas(w, h)
	for _, v := range values {
		if err := drawValue(c, v, p.signers[v.SignerID]); err != nil {
			return pdf.Ref{}, fmt.Errorf("seal: field %s: %w", v.FieldID, err)
		}
	}
	return c.form()
}

// drawing returns the operators that end the original content and paint ours.
func (p *painter) drawing(g pdf.Geometry, stamped bool) []byte {
	b := []byte("\nQ\n")
	m := g.ToUser()
	if stamped {
		b = appendPaint(b, m, p.name("S"))
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

// withXObjects returns a page's resources with XObjects added. They are cloned:
// the same dictionary may serve other pages. Pages that share a dictionary and
// get the same addition share the clone.
func (p *painter) withXObjects(resources pdf.Value, added pdf.Dict) (pdf.Value, error) {
	_, shared := resources.Ref()
	shared = shared && len(added) == 1
	if shared {
		if v, ok := p.resources[string(resources)]; ok {
			return v, nil
		}
	}
	res, err := p.optionalDict(resources)
	if err != nil {
		return nil, err
	}
	xobjects, err := p.optionalDict(res.Get("XObject"))
	if err != nil {
		return nil, err
	}
	xobjects = xobjects.Clone()
	for _, e := range added {
		xobjects.Set(e.Key, e.Value)
	}
	res = res.Clone()
	res.Set("XObject", xobjects.Value())
	v := res.Value()
	if shared {
		v = p.w.Add(v).Value()
		p.resources[string(resources)] = v
	}
	return v, nil
}

// optionalDict returns an empty dictionary for null.
func (p *painter) optionalDict(v pdf.Value) (pdf.Dict, error) {
	v, err := p.file.Resolve(v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	return p.file.Dict(v)
}
