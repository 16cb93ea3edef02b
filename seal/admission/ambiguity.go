package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/pdfa"
	"countersign/seal/refusal"
)

// pages reads the page tree, and refuses what in it would be read in two ways.
func (n *inspector) pages(ctx context.Context) ([]PageSize, error) {
	var sizes []PageSize
	var leaves []pdf.Ref
	checked := map[pdf.Ref]bool{} // resources
	_, err := n.f.WalkTree(n.checkNode, func(p *pdf.Page) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g, err := n.f.Geometry(p)
		if err != nil {
			return withLocation(err, "page %d", p.Index+1)
		}
		if turn, err := n.f.Resolve(p.Rotate); err != nil || !turnsPage(turn) {
			return cmp.Or(err, error(refusal.AmbiguousContent("the Rotate of page %d is no multiple of 90", p.Index+1)))
		}
		contents, err := n.f.Contents(p.Dict)
		if err != nil {
			return withLocation(err, "page %d", p.Index+1)
		}
		for _, c := range contents {
			ref, ok := c.Ref()
			if !ok { // poppler shows nothing of such a page, others what remains
				return refusal.Ambiguous("the content of page %d holds a null where a stream was expected", p.Index+1)
			}
			if _, ok := n.contents[ref]; !ok {
				n.contents[ref] = false
			}
		}
		if err := n.resources(p.Resources, checked, 0); err != nil {
			return withLocation(err, "resources of page %d", p.Index+1)
		}
		if err := n.pageText(ctx, p, contents); err != nil {
			return withLocation(err, "content of page %d", p.Index+1)
		}
		w, h := g.Size()
		sizes = append(sizes, PageSize{w, h})
		leaves = append(leaves, p.Ref)
		return nil
	})
	if err != nil {
		return nil, err
	}
	catalog, _, err := n.f.Catalog()
	if err != nil {
		return nil, err
	}
	root, _ := catalog.Get("Pages").Ref() // it has been walked
	if _, err = n.checkPageTree(ctx, root, nil); err != nil {
		return nil, err
	}
	return sizes, n.refuse(n.f.LinearizationProblem(leaves))
}

// turnsPage reports what all programs take for a rotation: some take 90.0 for none,
// and some 45 for 90.
func turnsPage(v pdf.Value) bool {
	n, ok := v.Int()
	return v.IsNull() || ok && n%90 == 0
}

// withLocation adds to an error of the reader where in the document it was met.
func withLocation(err error, format string, args ...any) error {
	if _, ok := errors.AsType[*refusal.Error](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// checkNode refuses a page, or a node of the page tree, with a key twice.
func (n *inspector) checkNode(ref pdf.Ref) error {
	o, err := n.f.Object(ref)
	if err != nil {
		return err
	}
	return refuseRepeatedKeys(o.Value, "object %d", ref.Num)
}

func refuseRepeatedKeys(v pdf.Value, format string, args ...any) error {
	key, err := v.RepeatedKey()
	if err != nil {
		return err
	}
	if key != "" {
		return refusal.Ambiguous("%s has the key %s twice", fmt.Sprintf(format, args...), safeText(key))
	}
	return nil
}

// resources looks at a resource dictionary and those in it.
func (n *inspector) resources(v pdf.Value, checked map[pdf.Ref]bool, depth int) error {
	name := "a resource dictionary"
	if ref, ok := v.Ref(); ok {
		if checked[ref] {
			return nil
		}
		checked[ref] = true
		name = fmt.Sprintf("object %d", ref.Num)
	}
	v, err := n.f.ResolvePlain(v)
	if err != nil || !v.IsDict() {
		return err
	}
	if err := refuseRepeatedKeys(v, "%s", name); err != nil {
		return err
	}
	if depth == 1 { // by kind of resource, by name
		return nil
	}
	d, err := v.Dict()
	if err != nil {
		return err
	}
	for _, e := range d {
		if err := n.resources(e.Value, checked, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// refuse refuses what the reader says of the file's structure, unless nothing will
// be appended to the file.
func (n *inspector) refuse(problem string, err error) error {
	if err != nil || problem == "" || n.attached {
		return err
	}
	return refusal.Ambiguous("it %s", problem)
}

// checkDocument looks at the trailers and at the catalog.
func (n *inspector) checkDocument(ctx context.Context) error {
	if err := n.refuse(n.f.SectionProblem()); err != nil {
		return err
	}
	for i, t := range n.f.Trailers() {
		if d, err := t.Dict(); err == nil {
			if info, ok := d.Get("Info").Ref(); ok {
				n.info[info] = true
			}
		}
		if err := refuseRepeatedKeys(t, "the trailer of revision %d from the end", i+1); err != nil {
			return err
		}
	}
	catalog, root, err := n.f.Catalog()
	if err != nil {
		return err
	}
	if err := n.checkNode(root); err != nil {
		return err
	}
	if n.f.IsHybrid() {
		n.warn(WarnHybrid, "parts of the file are hidden from old programs")
	}
	if v, err := n.f.Resolve(catalog.Get("Collection")); err != nil || !v.IsNull() {
		return errors.Join(err, refusal.AmbiguousContent("it is a portfolio, a collection of files"))
	}
	if !n.attached {
		if err := attachmentKeys(ctx, n.f, catalog); err != nil {
			return err
		}
	}
	redrawn, err := seal.RedrawsFields(n.f)
	if err != nil {
		return err
	}
	if redrawn {
		n.warn(WarnRedrawn, "NeedAppearances is true")
	}
	if !n.attached { // attached documents stay unchanged
		claim, err := pdfa.Find(n.f)
		if err != nil {
			return err
		}
		if claim != nil {
			n.warn(WarnPDFA, "%s", claim.Level)
		}
	}
	return n.optionalContent(ctx, catalog)
}
