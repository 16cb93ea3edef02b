package admission

import (
	"context"
	"fmt"
	"slices"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/pdfa"
	"countersign/seal/rejection"
)

// pages reads the page tree. It rejects structures that can be interpreted in different ways.
func (n *inspector) pages(ctx context.Context) ([]PageSize, error) {
	var sizes []PageSize
	var leaves []pdf.Ref
	checked := map[pdf.Ref]bool{} // examined resource dictionaries
	_, err := n.f.WalkTree(n.checkNode, func(p *pdf.Page) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g, err := n.f.Geometry(p)
		if err != nil {
			return fmt.Errorf("page %d: %w", p.Index+1, err)
		}
		contents, err := n.f.Contents(p.Dict)
		if err != nil {
			return fmt.Errorf("page %d: %w", p.Index+1, err)
		}
		for _, c := range contents {
			if ref, ok := c.Ref(); ok {
				n.contents[ref] = true
			}
		}
		if err := n.resources(p.Resources, checked, 0); err != nil {
			return fmt.Errorf("resources of page %d: %w", p.Index+1, err)
		}
		w, h := g.Size()
		sizes = append(sizes, PageSize{Width: w, Height: h, unit: g.UserUnit})
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
	root, _ := catalog.Get("Pages").Ref() // the tree was walked above, so this is a reference
	if _, err = n.checkPageTree(ctx, root, nil); err != nil {
		return nil, err
	}
	return sizes, n.reject(n.f.LinearizationProblem(leaves))
}

// checkNode rejects a page or page tree node that contains a duplicate key.
func (n *inspector) checkNode(ref pdf.Ref) error {
	o, err := n.f.Object(ref)
	if err != nil {
		return err
	}
	return rejectRepeatedKeys(o.Value, "object %d", ref.Num)
}

func rejectRepeatedKeys(v pdf.Value, format string, args ...any) error {
	key, err := v.RepeatedKey()
	if err != nil {
		return err
	}
	if key != "" {
		return rejection.Ambiguous("%s has the key %s twice", fmt.Sprintf(format, args...), safeText(key))
	}
	return nil
}

// resources examines a resource dictionary and the dictionaries in it.
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
	if err := rejectRepeatedKeys(v, "%s", name); err != nil {
		return err
	}
	if depth == 1 { // the keys are resource types at level 0 and names at level 1
		return nil
	}
	d, err := v.Dict()
	if err != nil {
		return err
	}
	for _, e := range d {
		if !slices.Contains(resourceTypes(), e.Key) { // programs ignore the entry
			continue
		}
		if err := n.resources(e.Value, checked, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// resourceTypes returns the keys of the dictionaries in a resource dictionary (7.8.3).
func resourceTypes() []string {
	return []string{"ExtGState", "ColorSpace", "Pattern", "Shading", "XObject", "Font", "Properties"}
}

// reject rejects the file because of a structural problem, unless the file is an attachment, to which nothing will be
// appended.
func (n *inspector) reject(problem string, err error) error {
	if err != nil || problem == "" || n.attached {
		return err
	}
	return rejection.Ambiguous("it %s", problem)
}

// checkDocument examines the trailers and the catalog.
func (n *inspector) checkDocument(ctx context.Context) error {
	if err := n.reject(n.f.SectionProblem()); err != nil {
		return err
	}
	for i, t := range n.f.Trailers() {
		if d, err := t.Dict(); err == nil {
			if info, ok := d.Get("Info").Ref(); ok {
				n.info[info] = true
			}
		}
		if err := rejectRepeatedKeys(t, "the trailer of revision %d from the end", i+1); err != nil {
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
		n.warn(WarnHybrid, "parts of the file are not visible to older programs")
	}
	if v, err := n.f.Resolve(catalog.Get("Collection")); err != nil {
		return err
	} else if !v.IsNull() {
		n.warn(WarnPortfolio, "the file is a portfolio")
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
