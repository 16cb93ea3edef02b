package pagetext

import (
	"context"
	"fmt"
	"math"
	"slices"

	"countersign/pdf"
)

//nolint:gochecknoglobals // a constant
var identity = pdf.Matrix{1, 0, 0, 1}

// displayMatrix returns the matrix from user space to points from the top left corner of the displayed page.
func displayMatrix(g pdf.Geometry) pdf.Matrix {
	m := g.ToUser()
	det := m[0]*m[3] - m[1]*m[2]
	inverse := pdf.Matrix{m[3] / det, -m[1] / det, -m[2] / det, m[0] / det, 0, 0}
	inverse[4] = -(m[4]*inverse[0] + m[5]*inverse[2])
	inverse[5] = -(m[4]*inverse[1] + m[5]*inverse[3])
	_, h := g.Size()
	return inverse.Times(pdf.Matrix{1, 0, 0, -1, 0, h})
}

// Reader reads the text of a file's pages. It caches fonts between pages. It is not safe for concurrent use.
type Reader struct {
	f      *pdf.File
	fonts  map[pdf.Ref]*face
	hidden map[pdf.Ref]bool // optional content groups that are off (8.11)
	runs   []run            // capacity for the runs of a page
}

// NewReader returns a Reader for a file.
func NewReader(f *pdf.File) *Reader {
	return &Reader{f: f, fonts: make(map[pdf.Ref]*face), hidden: hiddenGroups(f)}
}

// hiddenGroups returns the optional content groups that are initially hidden.
func hiddenGroups(f *pdf.File) map[pdf.Ref]bool {
	hidden := make(map[pdf.Ref]bool)
	cat, _, err := f.Catalog()
	if err != nil {
		return hidden
	}
	properties := dict(f, cat.Get("OCProperties"))
	config := dict(f, properties.Get("D"))
	if base, err := f.Resolve(config.Get("BaseState")); err == nil && base.IsName("OFF") {
		for _, ref := range references(f, properties.Get("OCGs")) {
			hidden[ref] = true
		}
		for _, ref := range references(f, config.Get("ON")) {
			delete(hidden, ref)
		}
	}
	for _, ref := range references(f, config.Get("OFF")) {
		hidden[ref] = true
	}
	return hidden
}

// references resolves v and returns the references in the array.
func references(f *pdf.File, v pdf.Value) (refs []pdf.Ref) {
	for _, e := range array(f, v) {
		if ref, ok := e.Ref(); ok {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Page reads the text of a page. It returns ErrLimit, the context's error, or an error from reading the file
// (pdf.ErrDamaged, pdf.ErrLimit). Content that violates the standard is read as far as possible.
func (r *Reader) Page(ctx context.Context, p *pdf.Page) (*Page, error) {
	out, err := r.interpret(ctx, p)
	if err != nil {
		return nil, err
	}
	out.expand(nil)
	return out, nil
}

// NearBraces is like Page, but returns only the glyphs on the same line as a brace or bracket, and on the lines around
// that line. If there are no braces, it returns no glyphs. The result partial reports whether any glyphs were omitted.
func (r *Reader) NearBraces(ctx context.Context, p *pdf.Page) (page *Page, partial bool, err error) {
	if page, err = r.interpret(ctx, p); err != nil {
		return nil, false, err
	}
	wanted := page.nearBraces()
	page.expand(wanted)
	return page, slices.Contains(wanted, false), nil
}

// interpret reads a page's content without creating glyphs.
func (r *Reader) interpret(ctx context.Context, p *pdf.Page) (*Page, error) {
	g, err := r.f.Geometry(p)
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", p.Index+1, err)
	}
	out := &Page{Index: p.Index, Uses: make([]Use, 1), runs: r.runs[:0]}
	out.Width, out.Height = g.Size()
	data, err := r.Content(p)
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, r: r, page: out, left: maxContent - len(data), active: make(map[pdf.Ref]bool), others: make(map[pdf.Ref]bool)}
	if err := w.run(data, 0, newResources(r.f, p.Resources), newState(displayMatrix(g)), 0); err != nil {
		return nil, fmt.Errorf("page %d: %w", p.Index+1, err)
	}
	if err := w.annotations(p, newState(displayMatrix(g))); err != nil {
		return nil, fmt.Errorf("page %d: annotations: %w", p.Index+1, err)
	}
	r.runs = out.runs
	return out, nil
}

// Content returns a page's own decoded content, to which Position refers. It returns ErrLimit, or an error from reading
// the file.
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

// DisplayBox converts a box from user space to the displayed page.
func DisplayBox(g pdf.Geometry, b pdf.Box) Box {
	m := displayMatrix(g)
	x0, y0 := m.Apply(b.X0, b.Y0)
	x1, y1 := m.Apply(b.X1, b.Y1)
	return Box{min(x0, x1), min(y0, y1), math.Abs(x1 - x0), math.Abs(y1 - y0)}
}
