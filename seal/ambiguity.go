package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"countersign/seal/pdf"
)

// pages reads the page tree, and refuses what in it would be read in two ways.
func (n *inspector) pages(ctx context.Context) ([]PageSize, error) {
	var sizes []PageSize
	checked := map[pdf.Ref]bool{} // resources
	_, err := n.f.WalkTree(n.node, func(p *pdf.Page) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g, err := n.f.Geometry(p)
		if err != nil {
			return where(err, "page %d", p.Index+1)
		}
		contents, err := n.f.Contents(p.Dict)
		if err != nil {
			return where(err, "page %d", p.Index+1)
		}
		for _, c := range contents {
			if ref, ok := c.Ref(); ok {
				n.contents[ref] = true
			}
		}
		if err := n.resources(p.Resources, checked, 0); err != nil {
			return where(err, "resources of page %d", p.Index+1)
		}
		w, h := g.Size()
		sizes = append(sizes, PageSize{w, h})
		return nil
	})
	if errors.Is(err, pdf.ErrLimit) && len(sizes) >= n.lim.MaxPages {
		return nil, &Refusal{PDFTooManyPages, fmt.Sprintf("The PDF has more than %d pages.", n.lim.MaxPages)}
	}
	if err != nil {
		return nil, err
	}
	catalog, _, err := n.f.Catalog()
	if err != nil {
		return nil, err
	}
	root, _ := catalog.Get("Pages").Ref() // it has been walked
	_, err = n.tree(ctx, root, nil)
	return sizes, err
}

// where adds to an error of the reader where in the document it was met.
func where(err error, format string, args ...any) error {
	var r *Refusal
	if errors.As(err, &r) {
		return err
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// node refuses a page, or a node of the page tree, with a key twice.
func (n *inspector) node(ref pdf.Ref) error {
	o, err := n.f.Object(ref)
	if err != nil {
		return err
	}
	return onlyOnce(o.Value, "object %d", ref.Num)
}

func onlyOnce(v pdf.Value, format string, args ...any) error {
	key, err := v.RepeatedKey()
	if err != nil {
		return err
	}
	if key != "" {
		return ambiguous("%s has the key %s twice", fmt.Sprintf(format, args...), safeText(key))
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
	v, err := n.f.Resolve(v)
	if err != nil || !v.IsDict() {
		return err
	}
	if err := onlyOnce(v, "%s", name); err != nil {
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

// document looks at the trailers and at the catalog.
func (n *inspector) document() error {
	for i, t := range n.f.Trailers() {
		if err := onlyOnce(t, "the trailer of revision %d from the end", i+1); err != nil {
			return err
		}
	}
	catalog, root, err := n.f.Catalog()
	if err != nil {
		return err
	}
	if err := n.node(root); err != nil {
		return err
	}
	if n.f.Hybrid() {
		n.warn(WarnHybrid, "parts of the file are hidden from old programs")
	}
	if v, err := n.f.Resolve(catalog.Get("Collection")); err != nil || !v.IsNull() {
		return errors.Join(err, ambiguous("it is a portfolio, a collection of files"))
	}
	if !n.signed {
		if err := attachmentKeys(n.f, catalog); err != nil {
			return err
		}
	}
	return n.layers(catalog)
}

// layers looks for optional content (8.11.4) that is on where the document is
// viewed and off where it is printed or exported, or the other way round.
func (n *inspector) layers(catalog pdf.Dict) error {
	props, err := optional(n.f, catalog.Get("OCProperties"))
	if err != nil || props == nil {
		return err
	}
	config, err := optional(n.f, props.Get("D"))
	if err != nil || config == nil {
		return err
	}
	usages, err := arrayOf(n.f, config.Get("AS"))
	if err != nil {
		return err
	}
	seen := map[pdf.Ref]bool{}
	for _, u := range usages {
		usage, err := optional(n.f, u)
		if err != nil || usage == nil {
			return err
		}
		groups, err := arrayOf(n.f, usage.Get("OCGs"))
		if err != nil {
			return err
		}
		for _, g := range groups {
			if ref, ok := g.Ref(); ok && !seen[ref] {
				seen[ref] = true
				if err := n.layer(ref); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (n *inspector) layer(ref pdf.Ref) error {
	group, err := optional(n.f, ref.Value())
	if err != nil || group == nil {
		return err
	}
	usage, err := optional(n.f, group.Get("Usage"))
	if err != nil || usage == nil {
		return err
	}
	var states []string
	for _, use := range [][2]string{{"View", "ViewState"}, {"Print", "PrintState"}, {"Export", "ExportState"}} {
		d, err := optional(n.f, usage.Get(use[0]))
		if err != nil {
			return err
		}
		if state, ok := d.Get(use[1]).Name(); ok {
			states = append(states, state)
		}
	}
	slices.Sort(states)
	if len(slices.Compact(states)) > 1 {
		n.warn(WarnLayers, "object %d", ref.Num)
	}
	return nil
}

// optional returns the dictionary that v is or refers to, nil if it is none.
func optional(f *pdf.File, v pdf.Value) (pdf.Dict, error) {
	v, err := f.Resolve(v)
	if err != nil || !v.IsDict() {
		return nil, err
	}
	return v.Dict()
}
