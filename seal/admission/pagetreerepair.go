package admission

import (
	"strconv"

	"countersign/pdf"
)

const (
	// maxTreeDepth is the maximum depth of a page tree that is repaired.
	maxTreeDepth = 100
	// maxCopiedPages is the maximum size of all copies of pages that a page tree contains repeatedly, in bytes.
	maxCopiedPages = 1 << 20
)

// treeRepair corrects the entries of a page tree that contradict the list of children: Type, Parent, Count, and null
// values of inheritable entries. A page that the tree contains repeatedly is copied.
type treeRepair struct {
	f      *pdf.File
	nodes  map[pdf.Ref]pdf.Dict // the corrected nodes
	seen   map[pdf.Ref]bool
	copies []pdf.Object
	size   int // size of the copies
	next   int // number of the next copy
}

// repairPageTree returns the corrected nodes of a page tree, and copies of pages. It returns nil if the tree needs no
// correction, or cannot be corrected.
func repairPageTree(f *pdf.File) (map[pdf.Ref]pdf.Dict, []pdf.Object) {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil, nil
	}
	root, ok := catalog.Get("Pages").Ref()
	size, known := f.Trailer().Get("Size").Int()
	if !ok || !known {
		return nil, nil
	}
	t := &treeRepair{f: f, nodes: map[pdf.Ref]pdf.Dict{}, seen: map[pdf.Ref]bool{}, next: int(size)}
	if _, ok := t.node(root, nil, 0); !ok {
		return nil, nil
	}
	return t.nodes, t.copies
}

// node corrects the nodes below and including a node. It returns the number of pages, and reports whether the nodes can
// be corrected.
func (t *treeRepair) node(ref pdf.Ref, parent *pdf.Ref, depth int) (pages int, ok bool) {
	if depth > maxTreeDepth || t.seen[ref] {
		return 0, false
	}
	t.seen[ref] = true
	d, err := pdf.OptionalDict(t.f, ref.Value())
	if err != nil || d == nil {
		return 0, false
	}
	d, changed := d.Clone(), false
	set := func(key string, v pdf.Value) { d.Set(key, v); changed = true }
	if parent != nil {
		if named, ok := d.Get("Parent").Ref(); !ok || named != *parent {
			set("Parent", parent.Value())
		}
	}
	for _, key := range inheritable() {
		if d.Get(key) == nil {
			continue
		}
		if v, err := t.f.Resolve(d.Get(key)); err != nil || v.IsNull() {
			d.Delete(key)
			changed = true
		}
	}
	pages = 1
	if d.Get("Kids") != nil {
		kids, below, ok := t.kids(ref, d.Get("Kids"), depth)
		if !ok {
			return 0, false
		}
		if pages = below; kids != nil {
			set("Kids", kids)
		}
		if !d.Get("Type").IsName("Pages") {
			set("Type", pdf.Value("/Pages"))
		}
		if count, err := t.f.Int(d.Get("Count")); err != nil || count != int64(pages) {
			set("Count", pdf.Value(strconv.Itoa(pages)))
		}
	}
	if changed {
		t.nodes[ref] = d
	}
	return pages, true
}

// kids corrects the children of a node. It returns the number of pages below the node, and the corrected array, or nil
// if the array is correct.
func (t *treeRepair) kids(ref pdf.Ref, v pdf.Value, depth int) (corrected pdf.Value, pages int, ok bool) {
	kids, err := t.f.Array(v)
	if err != nil {
		return nil, 0, false
	}
	copied := false
	for i, k := range kids {
		kid, ok := k.Ref()
		if !ok {
			return nil, 0, false
		}
		if t.seen[kid] {
			if kid, ok = t.copyPage(kid, ref); !ok {
				return nil, 0, false
			}
			kids[i], copied = kid.Value(), true
			pages++
			continue
		}
		below, ok := t.node(kid, &ref, depth+1)
		if !ok {
			return nil, 0, false
		}
		pages += below
	}
	if copied {
		corrected = pdf.JoinArray(kids)
	}
	return corrected, pages, true
}

// copyPage copies a page to another place in the tree.
func (t *treeRepair) copyPage(page, parent pdf.Ref) (pdf.Ref, bool) {
	d, err := pdf.OptionalDict(t.f, page.Value())
	if err != nil || d == nil || d.Get("Kids") != nil {
		return pdf.Ref{}, false
	}
	d = d.Clone()
	d.Set("Parent", parent.Value())
	v := d.Value()
	if t.size += len(v); t.size > maxCopiedPages {
		return pdf.Ref{}, false
	}
	ref := pdf.Ref{Num: t.next}
	t.next++
	t.copies = append(t.copies, pdf.Object{Ref: ref, Value: v})
	return ref, true
}
