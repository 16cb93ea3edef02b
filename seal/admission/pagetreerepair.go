package admission

import (
	"strconv"

	"countersign/pdf"
)

// maxTreeDepth is the maximum depth of a page tree that is repaired.
const maxTreeDepth = 100

// treeRepair corrects the entries of a page tree that contradict the list of children: Type, Parent, Count, and null
// values of inheritable entries.
type treeRepair struct {
	f     *pdf.File
	nodes map[pdf.Ref]pdf.Dict // the corrected nodes
	seen  map[pdf.Ref]bool
}

// repairPageTree returns the corrected nodes of a page tree. It returns nil if the tree needs no correction, or cannot
// be corrected.
func repairPageTree(f *pdf.File) map[pdf.Ref]pdf.Dict {
	catalog, _, err := f.Catalog()
	if err != nil {
		return nil
	}
	root, ok := catalog.Get("Pages").Ref()
	if !ok {
		return nil
	}
	t := &treeRepair{f: f, nodes: map[pdf.Ref]pdf.Dict{}, seen: map[pdf.Ref]bool{}}
	if _, ok := t.node(root, nil, 0); !ok {
		return nil
	}
	return t.nodes
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
		if pages, ok = t.kids(ref, d.Get("Kids"), depth); !ok {
			return 0, false
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

// kids corrects the children of a node, and returns the number of pages below it.
func (t *treeRepair) kids(ref pdf.Ref, v pdf.Value, depth int) (pages int, ok bool) {
	kids, err := t.f.Array(v)
	if err != nil {
		return 0, false
	}
	for _, k := range kids {
		kid, ok := k.Ref()
		if !ok {
			return 0, false
		}
		below, ok := t.node(kid, &ref, depth+1)
		if !ok {
			return 0, false
		}
		pages += below
	}
	return pages, true
}
