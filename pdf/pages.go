package pdf

import (
	"fmt"
	"math"
)

// Page is a leaf of the page tree, with its inherited attributes (7.7.3.4).
type Page struct {
	Ref   Ref
	Index int // starting at 0
	Dict  Dict

	MediaBox, CropBox, Resources, Rotate Value // own or inherited; nil if absent
	// ResourcesOf is the node that contains Resources.
	ResourcesOf Ref
}

const (
	maxTreeDepth = 64
	maxTreeNodes = 4 // maximum number of nodes per permitted page, because intermediate nodes also have a cost
)

// Catalog returns the document catalog and its reference (7.7.2).
func (f *File) Catalog() (Dict, Ref, error) {
	ref, ok := f.trailer.Get("Root").Ref()
	if !ok {
		return nil, ref, damaged("no Root in the trailer")
	}
	d, err := f.Dict(f.trailer.Get("Root"))
	return d, ref, err
}

// Walk calls visit for every page in order and returns the number of pages. The page and its dictionary must not be
// retained.
func (f *File) Walk(visit func(*Page) error) (int, error) { return f.WalkTree(nil, visit) }

// WalkTree is like Walk, but if enter is not nil, it also calls enter for every node of the page tree, including pages,
// before the nodes below it.
func (f *File) WalkTree(enter func(Ref) error, visit func(*Page) error) (int, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return 0, err
	}
	root, ok := cat.Get("Pages").Ref()
	if !ok {
		return 0, damaged("no page tree")
	}
	w := walker{f: f, enter: enter, visit: visit}
	err = w.node(root, &Page{}, 0)
	return w.pages, err
}

type walker struct {
	f     *File
	enter func(Ref) error
	visit func(*Page) error
	seen  bitset
	count int // number of visited nodes
	pages int
	nodes []node // reusable memory for nodes, by depth
	page  Page
}

// dict returns the dictionary of a node. It parses the node in one pass, into memory that is reused for the next node
// at the same depth, because a document can have thousands of pages.
func (w *walker) dict(ref Ref, depth int) (Dict, error) {
	for len(w.nodes) <= depth {
		w.nodes = append(w.nodes, node{})
	}
	n := &w.nodes[depth]
	e, err := w.f.lookup(ref.Num)
	if err != nil {
		return nil, err
	}
	if e.kind == entryInUse && e.gen == ref.Gen && e.offset > 0 && e.offset < w.f.size {
		b, err := w.f.in.readAhead(e.offset, min(nodeSize, w.f.size-e.offset))
		if err != nil {
			return nil, err
		}
		n.raw = append(n.raw[:0], b...)
		if d, ok := indirectDict(n.raw, ref, n.dict[:0]); ok {
			n.dict = d
			return d, nil
		}
	}
	v, err := w.f.ResolvePlain(ref.Value()) // large, compressed, or invalid
	if err != nil {
		return nil, err
	}
	d, err := v.DictInto(n.dict[:0])
	if err != nil {
		return nil, damaged("page tree: object %d is not a dictionary", ref.Num)
	}
	n.dict = d
	return d, nil
}

// nodeSize is a size, in bytes, that is sufficient for most page dictionaries.
const nodeSize = 1024

type node struct {
	raw  []byte
	dict Dict
}

// indirectDict parses "12 0 obj <<…>> endobj" if b contains all of it.
func indirectDict(b []byte, ref Ref, d Dict) (Dict, bool) {
	num, i, ok1 := scanUint(b, 0)
	gen, i, ok2 := scanUint(b, SkipSpace(b, i))
	i = SkipSpace(b, i)
	if !ok1 || !ok2 || num != ref.Num || gen != ref.Gen || i+3 >= len(b) || string(b[i:i+3]) != "obj" {
		return nil, false
	}
	d, end, err := Value(b).dictAt(SkipSpace(b, i+3), d, nil)
	if err != nil {
		return nil, false
	}
	i = SkipSpace(b, end)
	return d, i+6 <= len(b) && string(b[i:i+6]) == "endobj"
}

func (w *walker) node(ref Ref, inherited *Page, depth int) error {
	if depth > maxTreeDepth || w.count > w.f.lim.MaxPages*maxTreeNodes {
		return fmt.Errorf("%w: page tree", ErrLimit)
	}
	if ref.Num > maxObjectNum {
		return damaged("page tree: there is no object %d", ref.Num)
	}
	if !w.seen.add(ref.Num) {
		return damaged("invalid page tree: object %d occurs twice", ref.Num)
	}
	w.count++
	if w.enter != nil {
		if err := w.enter(ref); err != nil {
			return err
		}
	}
	d, err := w.dict(ref, depth)
	if err != nil {
		return err
	}
	kids := d.Get("Kids")
	leaf := kids == nil
	kind, err := w.f.Resolve(d.Get("Type"))
	if err != nil {
		return err
	}
	// Reject an object that some programs interpret as a page and others as a node. Some programs check its type, and
	// others check whether it has kids.
	if leaf && (depth == 0 || kind.IsName("Pages")) || !leaf && !kind.IsName("Pages") {
		return damaged("page tree: object %d is neither a page nor a node", ref.Num)
	}
	if leaf {
		if w.pages >= w.f.lim.MaxPages {
			return &TooManyPagesError{w.f.lim.MaxPages}
		}
		w.page = *inherited
		w.page.inherit(d, ref)
		w.page.Ref, w.page.Index, w.page.Dict = ref, w.pages, d
		w.pages++
		return w.visit(&w.page)
	}
	list, err := w.f.Resolve(kids)
	if err != nil {
		return err
	}
	if !list.IsArray() {
		return damaged("expected an array")
	}
	p := *inherited
	p.inherit(d, ref)
	for i := 1; ; { // parse elements one at a time, because there may be thousands
		k, end, err := list.element(i)
		if err != nil {
			return damaged("expected an array")
		}
		if k == nil {
			return nil
		}
		kid, ok := k.Ref()
		if !ok {
			return damaged("page tree: a kid of object %d is not a reference", ref.Num)
		}
		if err := w.node(kid, &p, depth+1); err != nil {
			return err
		}
		i = end
	}
}

// inherit sets the attributes that a node defines for itself and its descendants.
func (p *Page) inherit(d Dict, ref Ref) {
	for i := range d {
		switch v := d[i].Value; d[i].Key {
		case "MediaBox":
			p.MediaBox = v
		case "CropBox":
			p.CropBox = v
		case "Resources":
			p.Resources, p.ResourcesOf = v, ref
		case "Rotate":
			p.Rotate = v
		}
	}
}

// Contents returns references to the content streams of a page (7.7.3.3).
func (f *File) Contents(d Dict) ([]Value, error) {
	v := d.Get("Contents")
	if ref, ok := v.Ref(); ok {
		array, err := f.startsArray(ref)
		if err != nil {
			return nil, err
		}
		if !array {
			return []Value{v}, nil
		}
	}
	v, err := f.Resolve(v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	list, err := v.Array()
	if err != nil {
		return nil, damaged("page content is neither a stream nor an array")
	}
	for _, e := range list {
		if _, ok := e.Ref(); !ok && !e.IsNull() {
			return nil, damaged("page content contains a direct object")
		}
	}
	return list, nil
}

// Box is a rectangle in default user space, with X0 < X1 and Y0 < Y1.
type Box struct{ X0, Y0, X1, Y1 float64 }

// Geometry describes how a page is displayed.
type Geometry struct {
	Visible  Box     // CropBox within MediaBox, in user space units
	Rotate   int     // clockwise rotation: 0, 90, 180 or 270
	UserUnit float64 // points per user space unit
}

// Matrix is a transformation [a b c d e f] (8.3.3).
type Matrix [6]float64

// Times returns the matrix that applies m first and then n (8.3.4).
func (m Matrix) Times(n Matrix) Matrix {
	return Matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// Apply returns the transformed point.
func (m Matrix) Apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// Geometry reads the boxes of a page. Like PDF readers, it assumes US Letter if there is no MediaBox, and uses the
// MediaBox if the CropBox does not overlap it.
func (f *File) Geometry(p *Page) (Geometry, error) {
	g := Geometry{UserUnit: 1}
	media, err := f.box(p.MediaBox)
	if err != nil {
		return g, err
	}
	if media == nil {
		media = &Box{0, 0, 612, 792}
	}
	g.Visible = *media
	crop, err := f.box(p.CropBox)
	if err != nil {
		return g, err
	}
	if crop != nil {
		c := Box{max(crop.X0, media.X0), max(crop.Y0, media.Y0), min(crop.X1, media.X1), min(crop.Y1, media.Y1)}
		if c.X0 < c.X1 && c.Y0 < c.Y1 {
			g.Visible = c
		}
	}
	lookup := &Lookup{File: f}
	if n, ok := lookup.Value(p.Rotate).Float(); ok && math.Abs(n) < 1e6 { // rounded as in PDFium
		g.Rotate = ((int(n)/90*90)%360 + 360) % 360
	}
	if u, ok := lookup.Value(p.Dict.Get("UserUnit")).Float(); ok && u >= 0.01 && u <= 10_000 {
		g.UserUnit = u
	}
	return g, lookup.Err
}

// box returns a rectangle, or nil if it is missing or empty.
func (f *File) box(v Value) (*Box, error) {
	v, err := f.Resolve(v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	a, err := v.Array()
	if err != nil || len(a) != 4 {
		return nil, damaged("invalid page box")
	}
	var n [4]float64
	for i := range n {
		e, err := f.Resolve(a[i])
		if err != nil {
			return nil, err
		}
		var ok bool
		if n[i], ok = e.Float(); !ok || math.Abs(n[i]) > 1e7 {
			return nil, damaged("invalid page box")
		}
	}
	b := Box{min(n[0], n[2]), min(n[1], n[3]), max(n[0], n[2]), max(n[1], n[3])}
	if b.X0 == b.X1 || b.Y0 == b.Y1 {
		return nil, nil //nolint:nilnil // an empty box counts as missing
	}
	return &b, nil
}

// Size returns the width and height of the displayed page in points.
func (g Geometry) Size() (w, h float64) {
	w, h = (g.Visible.X1-g.Visible.X0)*g.UserUnit, (g.Visible.Y1-g.Visible.Y0)*g.UserUnit
	if g.Rotate%180 != 0 {
		w, h = h, w
	}
	return w, h
}

// ToUser returns the matrix that maps points, measured from the bottom left corner of the displayed page, to user
// space.
func (g Geometry) ToUser() Matrix {
	s, b := 1/g.UserUnit, g.Visible
	switch g.Rotate {
	case 90:
		return Matrix{0, s, -s, 0, b.X1, b.Y0}
	case 180:
		return Matrix{-s, 0, 0, -s, b.X1, b.Y1}
	case 270:
		return Matrix{0, -s, s, 0, b.X0, b.Y1}
	}
	return Matrix{s, 0, 0, s, b.X0, b.Y0}
}

// Box converts a box in points, measured from the bottom left corner of the displayed page, to user space.
func (g Geometry) Box(x0, y0, x1, y1 float64) Box {
	m := g.ToUser()
	ax, ay := m.Apply(x0, y0)
	bx, by := m.Apply(x1, y1)
	return Box{min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)}
}

// Overlaps reports whether two boxes share more than an edge.
func (b Box) Overlaps(c Box) bool {
	return b.X0 < c.X1 && c.X0 < b.X1 && b.Y0 < c.Y1 && c.Y0 < b.Y1
}
