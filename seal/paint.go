package seal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"countersign/pdf"
	"countersign/seal/lang"
	"countersign/seal/rejection"
	"countersign/seal/text"
)

// painter draws on the pages of the original.
type painter struct {
	*assembly
	line      map[int]pdf.Ref // form XObjects of the line, by page rotation
	lineWidth float64
	foot      footLine
	values    map[int][]Value
	signers   map[string]string
	layered   bool // whether the document has layers, which can hide content
	left      *pdf.OpenState
	open      int   // number of marked-content sequences that the page leaves open
	budget    int64 // remaining bytes of content that may be read for the line
	last      pageMeasure
	buf       []byte // reused for each page, as are the following fields
	stamped   stamps
	boxes     []pdf.Box
}

const (
	// maxLineContent limits the content, in decoded bytes, that is read to find free space for the line at the foot.
	// Pages beyond the limit get no line.
	maxLineContent = 64 << 20
	// maxLeftContent limits the content, in bytes, that is read to find marked-content sequences that were left open.
	maxLeftContent = 256 << 20
	// maxLineAnnots limits the number of annotations on a page with the line, because their list is rewritten.
	maxLineAnnots = 200
)

// page draws the values and the line at the foot on one page.
func (p *painter) page(ctx context.Context, page *pdf.Page) error {
	values := slices.DeleteFunc(p.values[page.Index], func(v Value) bool { return v.empty() })
	if p.valuesOnly && len(values) == 0 || p.onlyPage != 0 && page.Index != p.onlyPage-1 {
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
	p.boxes = p.boxes[:0]
	for _, v := range values {
		p.boxes = append(p.boxes, g.Box(v.X, h-v.Y-v.H, v.X+v.W, h-v.Y))
	}
	foot := g.Box(sealLineMargin, sealLineFoot, w-sealLineMargin, sealLineFoot+sealLineSize*sealLineHeight)
	content, err := p.examine(page, append(p.boxes, foot), len(values) > 0) //nolint:contextcheck // reading one page is limited
	if err != nil {
		return err
	}
	over, err := p.readAnnots(ctx, page, p.boxes, len(values) > 0 || !p.known)
	if err != nil {
		return err
	}
	if err := p.countOpen(ctx, page, over.appearances, len(values) > 0); err != nil {
		return err
	}
	if len(values) > 0 {
		if err := p.closeSequences(over, g); err != nil {
			return err
		}
	}
	for i, v := range values {
		if err := p.stampValue(over, g, v, content.Dark[i] || over.dark[i]); err != nil {
			return err
		}
	}
	if p.hasLine(page.Index, content, over, foot) {
		if err := p.stampLine(over, g); err != nil {
			return err
		}
	}
	if over.changed {
		p.write(page, over)
	}
	if p.w.Offset()-p.job.Size > p.mostAdded() {
		return fmt.Errorf("%w: the rewritten pages are too large", pdf.ErrLimit)
	}
	return nil
}

// hasLine reports whether to draw the line at the foot, which requires free space.
func (p *painter) hasLine(page int, content pdf.Content, over *stamps, foot pdf.Box) bool {
	if p.valuesOnly {
		return false
	}
	if !p.known {
		free := content.Free && p.open == 0 && len(over.annots) <= maxLineAnnots && !slices.ContainsFunc(over.covers, foot.Overlaps)
		if !free {
			p.lineless.add(page)
		}
	}
	return !p.lineless.has(page) && !slices.ContainsFunc(p.boxes, foot.Overlaps)
}

// write writes a page dictionary with its updated annotations.
func (p *painter) write(page *pdf.Page, over *stamps) {
	b := append(p.buf[:0], "<<"...)
	for _, e := range page.Dict {
		if e.Key != "Annots" {
			b = e.Append(b)
		}
	}
	b = append(b, "/Annots["...)
	for i, v := range over.annots {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, v...)
	}
	b = append(b, "]>>"...)
	p.w.Put(page.Ref, b)
	p.buf = b
}

// examine reads a page's content. It returns which boxes are on dark areas, and whether the last box is free.
func (p *painter) examine(page *pdf.Page, boxes []pdf.Box, hasValues bool) (pdf.Content, error) {
	readForLine := !p.known && !p.valuesOnly && p.budget > 0
	if !hasValues && !readForLine {
		return pdf.Content{}, nil
	}
	contents, err := p.file.Contents(page.Dict)
	if err != nil {
		return pdf.Content{}, err
	}
	c, err := p.file.ReadContent(contents, page.Resources, boxes)
	if !p.known {
		c.Free = c.Free && c.Size <= p.budget
		p.budget -= c.Size
	}
	return c, err
}

// countOpen counts the marked-content sequences that a page leaves open, if they could hide added content. In a dry
// run, countOpen also rejects a page whose content prevents any later drawing.
func (p *painter) countOpen(ctx context.Context, page *pdf.Page, appearances []pdf.Value, hasValues bool) error {
	p.open = 0
	mayHide := p.layered && (hasValues || !p.known)
	if !p.dryRun && !mayHide {
		return nil
	}
	contents, err := p.file.Contents(page.Dict)
	if err != nil {
		return err
	}
	p.open, err = p.left.Page(ctx, contents, page.Resources, appearances)
	return err
}

// pageMeasure is the geometry of the previous page. In most documents all pages have the same geometry, so it is
// computed only once.
type pageMeasure struct {
	known    bool
	boxes    [4]string // MediaBox, CropBox, Rotate, UserUnit as written
	geometry pdf.Geometry
}

func (p *painter) measure(page *pdf.Page) error {
	boxes := [4]pdf.Value{page.MediaBox, page.CropBox, page.Rotate, page.Dict.Get("UserUnit")}
	same := p.last.known
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
	p.last = pageMeasure{known: true, geometry: g}
	for i, b := range boxes {
		p.last.boxes[i] = string(b)
	}
	return nil
}

// value draws one value as marked content for its kind.
func (p *painter) value(c *canvas, v Value, dark bool) (markedContent, error) {
	m := markForValue(lang.ForTag(p.job.Language), v, p.signers[v.SignerID])
	if p.tags != nil {
		c.b = m.begin(c.b, 0)
	}
	if dark {
		c.backing(v.X, v.Y, v.W, v.H)
	}
	err := drawValue(c, v, p.signers[v.SignerID])
	if missing, ok := errors.AsType[*text.MissingGlyphError](err); ok {
		return m, rejection.New(rejection.GlyphMissing, "Field "+v.FieldID+": "+glyphMissing(missing).Message)
	}
	if err != nil {
		return m, fmt.Errorf("field %s: %w", v.FieldID, err)
	}
	if p.tags != nil {
		c.b = append(c.b, "EMC\n"...)
	}
	return m, nil
}

// marked writes an annotation's form XObject. In a tagged document, it adds the form's marked content to the structure
// tree.
func (p *painter) marked(c *canvas, page, annotation pdf.Ref, bbox pdf.Value, m markedContent, extra ...pdf.Entry) (pdf.Ref, error) {
	if p.tags == nil {
		return c.formOf(bbox, extra...)
	}
	number := p.tags.allocate()
	form, err := c.formOf(bbox, append(extra, pdf.Entry{Key: "StructParents", Value: pdf.Value(strconv.FormatInt(number, 10))})...)
	p.tags.add(number, page, &appearance{form, annotation}, []markedContent{m})
	return form, err
}
