package admission

import (
	"context"
	"slices"

	"countersign/pdf"
	"countersign/seal/rejection"
)

// inheritable returns the keys of the entries that a page inherits from its ancestor nodes (7.7.3.4).
func inheritable() []string { return []string{"MediaBox", "CropBox", "Resources", "Rotate"} }

// checkPageTree rejects a page tree that can be interpreted in different ways, so that signers cannot see pages other
// than the sealed ones. It rejects a wrong count, because some programs show that number of pages and the seal must
// write the true count. It rejects a page whose parent is not the node that lists it, because some programs inherit
// from the parent and others from that node. It also rejects a null value for an inheritable entry. It returns the
// number of pages below a node, whose tree must already have been walked.
func (n *inspector) checkPageTree(ctx context.Context, ref pdf.Ref, parent *pdf.Ref) (pages int, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	d, err := n.f.Dict(ref.Value())
	if err != nil {
		return 0, err
	}
	if parent != nil {
		if named, ok := d.Get("Parent").Ref(); !ok || named != *parent {
			return 0, rejection.Ambiguous("object %d is a child of object %d, but specifies another parent", ref.Num, parent.Num)
		}
	}
	for _, e := range d {
		if !slices.Contains(inheritable(), e.Key) {
			continue
		}
		v, err := n.f.Resolve(e.Value)
		if err != nil {
			return 0, err
		}
		if v.IsNull() {
			return 0, rejection.Ambiguous("object %d has a %s that is null", ref.Num, e.Key)
		}
	}
	if d.Get("Kids") == nil {
		return 1, nil
	}
	kids, err := n.f.Array(d.Get("Kids"))
	if err != nil {
		return 0, err
	}
	for _, k := range kids {
		kid, _ := k.Ref() // a reference, because the tree was walked
		below, err := n.checkPageTree(ctx, kid, &ref)
		if err != nil {
			return 0, err
		}
		pages += below
	}
	if count, err := n.f.Int(d.Get("Count")); err != nil || count != int64(pages) {
		return 0, rejection.Ambiguous("object %d, a node of the page tree, has %d pages but a different Count", ref.Num, pages)
	}
	return pages, nil
}
