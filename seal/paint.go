package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"countersign/seal/lang"
	"countersign/seal/pdf"
	"countersign/seal/refusal"
	"countersign/seal/text"
)

// painter rewrites the pages.
type painter struct {
	*assembly
	line      map[bool]pdf.Ref // the forms of the line, by whether it has a backing, for dark pages
	lineWidth float64
	values    map[int][]Value
	signers   map[string]string
	open      pdf.Ref                       // the stream "q"
	endings   map[pageEnd]pdf.Ref           // what ends the pages that are alike
	resources map[sharedResources]pdf.Value // resources with the line added
	locked    map[pdf.Ref]bool              // annotations written anew
	redrawn   bool                          // programs are asked to make the looks of form fields anew (NeedAppearances)
	budget    int64                         // bytes of content of pages without values that may still be read
	last      pageMeasure
	buf, res  []byte // used again for each page, as are these:
	contents  []byte
	over      overlay
	dict      pdf.Dict
	rewritten pdf.Dict
}

const (
	// maxContentRead bounds how much content of pages without values is read, in
	// decoded bytes: sealing must not take longer the more text there is. Beyond it,
	// the line suffers if such a page leaves its graphics state behind.
	maxContentRead = 4 << 20
	// maxContentDryRun is that at the upload.
	maxContentDryRun = 64 << 20
	// maxOpenStates bounds the graphics states, and the sequences of marked content,
	// that are closed for a page.
	maxOpenStates = 4096
)

// pageEnd is what the end of a page without values depends on.
type pageEnd struct {
	geometry pdf.Geometry
	open     int  // graphics states
	marked   int  // sequences of marked content
	dark     bool // where the line stands
}

// sharedResources is where resources stand, and the line that was added to them.
type sharedResources struct{ at, line pdf.Ref }

// page writes a page anew: its content between q and Q, then what is drawn.
func (p *painter) page(ctx context.Context, page *pdf.Page) error {
	values := p.values[page.Index]
	if p.valuesOnly && values == nil {
		return nil
	}
	if err := p.measure(page); err != nil {
		return err
	}
	g := p.last.geometry
	if w, h := g.Size(); page.Index == 0 && math.Abs(w-letterWidth) < 3 && math.Abs(h-letterHeight) < 3 {
		p.paper = [2]float64{letterWidth, letterHeight}
	}
	contents, err := p.file.Contents(page.Dict)
	if err != nil {
		return err
	}
	look, err := p.look(page, contents, g, values) //nolint:contextcheck // what is read of one page is bounded
	if err != nil {
		return err
	}
	over, err := p.annotations(ctx, page, g, values)
	if err != nil {
		return err
	}
	darkLine := look.Dark[len(values)]
	line, err := p.makeLine(darkLine)
	if err != nil {
		return err
	}
	d := page.Dict
	if look.Unclean {
		// What follows such content might be lost, and a Q too many would do something
		// between q and Q: the content stays as it is, and all is drawn by annotations,
		// which do not depend on it.
		if p.dryRun && look.Marked > 0 {
			return refusal.AmbiguousContent("the content of page %d is broken, and some of it may be hidden", page.Index+1)
		}
		for i := range over.values {
			over.values[i] = true
		}
		if err := p.lineAbove(over, page.Ref, g, line); err != nil {
			return err
		}
	} else if d, err = p.below(page, contents, g, look, over, line); err != nil {
		return err
	}
	if err := p.valuesAbove(over, page.Ref, g, values, look); err != nil {
		return err
	}
	p.write(page.Ref, d, over)
	if p.w.Offset()-p.job.Size > p.mostAdded() {
		return fmt.Errorf("%w: writing the pages anew takes too much", pdf.ErrLimit)
	}
	return nil
}

// write writes the dictionary of a page, with the annotations that it has now.
func (p *painter) write(page pdf.Ref, d pdf.Dict, over *overlay) {
	b := append(p.buf[:0], "<<"...)
	for _, e := range d {
		if e.Key == "Annots" && over.changed {
			continue
		}
		b = e.Append(b)
	}
	if over.changed {
		b = append(b, "/Annots"...)
		b = append(b, pdf.JoinArray(over.annots)...)
	}
	b = append(b, ">>"...)
	p.w.Put(page, b)
	p.buf = b
}

// unknownBelow is what is known of where the line stands on a page that is not read.
var unknownBelow = []bool{false}

// look reads a page's content: what it leaves behind, and where it is dark. The
// last box is that of the line.
func (p *painter) look(page *pdf.Page, contents []pdf.Value, g pdf.Geometry, values []Value) (pdf.Content, error) {
	if values == nil && (p.plain || p.budget <= 0) {
		p.remarkable = true
		return pdf.Content{Dark: unknownBelow}, nil
	}
	boxes := make([]pdf.Box, 0, len(values)+1)
	w, h := g.Size()
	for _, v := range values {
		boxes = append(boxes, g.Box(v.X, h-v.Y-v.H, v.X+v.W, h-v.Y))
	}
	boxes = append(boxes, g.Box(sealLineMargin, sealLineFoot, w-sealLineMargin, sealLineFoot+sealLineSize))
	most := p.budget
	if values != nil {
		most = pdf.MaxContent
	}
	c, err := p.file.ReadContent(contents, page.Resources, boxes, most)
	if values == nil {
		if p.budget -= c.Size; c.Size > most {
			c.Unclean = false // unknown
			p.remarkable = true
		}
	}
	c.Unclean = c.Unclean || c.Open > maxOpenStates || c.Marked > maxOpenStates
	p.remarkable = p.remarkable || c.Unclean || c.Open > 0 || c.Marked > 0 || slices.Contains(c.Dark, true)
	return c, err
}

// below draws in the page itself, after its content.
func (p *painter) below(page *pdf.Page, contents []pdf.Value, g pdf.Geometry, look pdf.Content, over *overlay, line pdf.Ref) (pdf.Dict, error) {
	var stamp *pdf.Ref
	values := p.values[page.Index]
	var end pdf.Ref
	if values != nil {
		w, h := g.Size()
		form, err := p.stamp(page.Ref, values, look.Dark, over, w, h)
		if err != nil {
			return nil, err
		}
		stamp = &form
		end = p.w.AddStream(nil, p.drawing(g, look, true))
	} else {
		key := pageEnd{g, look.Open, look.Marked, look.Dark[0]}
		var ok bool
		if end, ok = p.endings[key]; !ok {
			end = p.w.AddStream(nil, p.drawing(g, look, false))
			p.endings[key] = end
		}
	}
	res, err := p.withXObjects(page, line, stamp)
	if err != nil {
		return nil, err
	}
	b := p.open.Append(append(p.contents[:0], '['))
	for _, c := range contents {
		b = append(b, ' ')
		b = append(b, c...)
	}
	b = append(end.Append(append(b, ' ')), ']')
	p.contents = b
	d := append(p.rewritten[:0], page.Dict...)
	d.Set("Contents", b)
	d.Set("Resources", res)
	p.rewritten = d
	return d, nil
}

// pageMeasure is the geometry of the page seen last. Most documents have one for
// all pages, and then it is read once.
type pageMeasure struct {
	is       bool
	boxes    [4]string // MediaBox, CropBox, Rotate, UserUnit as written
	geometry pdf.Geometry
}

func (p *painter) measure(page *pdf.Page) error {
	boxes := [4]pdf.Value{page.MediaBox, page.CropBox, page.Rotate, page.Dict.Get("UserUnit")}
	same := p.last.is
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
	p.last = pageMeasure{is: true, geometry: g}
	for i, b := range boxes {
		p.last.boxes[i] = string(b)
	}
	return nil
}

func (p *painter) name(kind string) string { return "Cs" + kind + p.nonce }

// stamp draws the values of one page, but for those above annotations, as a form
// of the page's size as shown.
func (p *painter) stamp(page pdf.Ref, values []Value, dark []bool, over *overlay, w, h float64) (pdf.Ref, error) {
	c := p.t.canvas(w, h)
	var marks []markedContent
	for i, v := range values {
		if v.empty() || over.values[i] {
			continue
		}
		m, err := p.value(c, v, dark[i], len(marks))
		if err != nil {
			return pdf.Ref{}, err
		}
		marks = append(marks, m)
	}
	return p.marked(c, page, box(0, 0, w, h), marks)
}

// value draws one value, marked as what it is.
func (p *painter) value(c *canvas, v Value, dark bool, id int) (markedContent, error) {
	m := markForValue(lang.ForTag(p.job.Language), v, p.signers[v.SignerID])
	if p.tags != nil {
		c.b = m.begin(c.b, id)
	}
	if dark {
		c.backing(v.X, v.Y, v.W, v.H)
	}
	err := drawValue(c, v, p.signers[v.SignerID])
	if missing, ok := errors.AsType[*text.MissingGlyphError](err); ok {
		return m, refusal.New(refusal.GlyphMissing, "Field "+v.FieldID+": "+glyphMissing(missing).Message)
	}
	if err != nil {
		return m, fmt.Errorf("field %s: %w", v.FieldID, err)
	}
	if p.tags != nil {
		c.b = append(c.b, "EMC\n"...)
	}
	return m, nil
}

// marked writes a form whose marks join the structure tree.
func (p *painter) marked(c *canvas, page pdf.Ref, bbox pdf.Value, marks []markedContent, extra ...pdf.Entry) (pdf.Ref, error) {
	if p.tags == nil || len(marks) == 0 {
		return c.formOf(bbox, extra...)
	}
	number := p.tags.take()
	form, err := c.formOf(bbox, append(extra, pdf.Entry{Key: "StructParents", Value: pdf.Value(strconv.FormatInt(number, 10))})...)
	p.tags.add(number, page, &form, marks)
	return form, err
}

// drawing returns the operators that end the original content, with what it leaves
// open, and paint ours.
func (p *painter) drawing(g pdf.Geometry, look pdf.Content, stamped bool) []byte {
	b := bytes.Repeat([]byte("\nEMC"), look.Marked)
	b = append(b, bytes.Repeat([]byte("\nQ"), look.Open)...)
	b = append(b, "\nQ\n"...)
	m := g.ToUser()
	if stamped {
		b = appendPaint(b, m, p.name("S"))
	}
	if k := p.lineScale(g); k > 0 {
		b = appendPaint(b, pdf.Matrix{k, 0, 0, k, sealLineMargin, sealLineFoot}.Times(m), p.name("L"))
	}
	return b
}

// makeLine makes the line at the foot, unless it is there already.
func (p *painter) makeLine(dark bool) (pdf.Ref, error) {
	var err error
	if !p.valuesOnly && p.line[dark].Num == 0 {
		p.line[dark], p.lineWidth, err = p.t.sealLine(p.job, p.sealer.cfg.ServiceName, dark)
	}
	return p.line[dark], err
}

// lineScale returns how much the line is made smaller to fit a page, and 0 if it
// is left out.
func (p *painter) lineScale(g pdf.Geometry) float64 {
	if p.valuesOnly {
		return 0
	}
	w, _ := g.Size()
	k := min(1, (w-2*sealLineMargin)/p.lineWidth)
	if k <= 0.1 {
		return 0
	}
	return k
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
		if v, ok := p.resources[sharedResources{at, line}]; ok {
			return v, nil
		}
	}
	res, err := p.file.ResolvePlain(page.Resources)
	if err != nil {
		return nil, err
	}
	d := p.dict[:0]
	if !res.IsNull() {
		if d, err = res.DictInto(d); err != nil {
			return nil, fmt.Errorf("%w: resources", pdf.ErrDamaged)
		}
	}
	p.dict = d
	xobjects, err := p.file.ResolvePlain(d.Get("XObject"))
	if err != nil {
		return nil, err
	}
	b := append(p.res[:0], "<<"...)
	for _, e := range d {
		if e.Key != "XObject" {
			b = e.Append(b)
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
	p.resources[sharedResources{at, line}] = v
	return v, nil
}

func (p *painter) appendResource(b []byte, kind string, ref pdf.Ref) []byte {
	b = append(b, '/')
	b = append(b, p.name(kind)...)
	b = append(b, ' ')
	return ref.Append(b)
}
