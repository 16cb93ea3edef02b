package admission

import (
	"context"
	"fmt"
	"slices"

	"countersign/pdf"
)

// optionalContent adds a warning for optional content (8.11.4) that is visible in one use of the document and hidden in
// another. Such uses are display on screen, printing, exporting, or viewing at a certain magnification or in a certain
// language. Some programs always apply a group's usage settings, others apply them only if the configuration requests
// it, and others never apply them. The warning does not depend on which behavior is correct.
func (n *inspector) optionalContent(ctx context.Context, catalog pdf.Dict) error {
	lookup := &pdf.Lookup{File: n.f}
	props, err := pdf.OptionalDict(n.f, catalog.Get("OCProperties"))
	if err != nil {
		return err
	}
	config := lookup.Dict(props.Get("D"))
	off := layersOff(lookup, config)
	var all, asked groups // all groups; groups whose state depends on the viewer or the magnification
	all.add(lookup, lookup.Array(props.Get("OCGs")))
	read := map[pdf.Ref]bool{}
	for _, u := range lookup.Array(config.Get("AS")) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ref, ok := u.Ref(); ok {
			if read[ref] {
				continue
			}
			read[ref] = true
		}
		usage := lookup.Dict(u)
		of := lookup.Array(usage.Get("OCGs"))
		all.add(lookup, of)
		categories := lookup.Array(usage.Get("Category"))
		if slices.ContainsFunc(categories, func(c pdf.Value) bool {
			c = lookup.Value(c)
			return c.IsName("Zoom") || c.IsName("Language") || c.IsName("User")
		}) {
			asked.add(lookup, of)
		}
	}
	for _, ref := range all.order {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.optionalContentGroup(lookup, ref, !off(ref), asked.has[ref])
	}
	return lookup.Err
}

// maxGroups is the maximum number of optional content groups examined.
const maxGroups = 100_000

// groups is an ordered set of optional content groups.
type groups struct {
	order []pdf.Ref
	has   map[pdf.Ref]bool
}

func (g *groups) add(lookup *pdf.Lookup, named []pdf.Value) {
	if g.has == nil {
		g.has = map[pdf.Ref]bool{}
	}
	for _, v := range named {
		ref, ok := v.Ref()
		if !ok || g.has[ref] {
			continue
		}
		if len(g.order) == maxGroups {
			lookup.Err = fmt.Errorf("%w: more than %d layers", pdf.ErrLimit, maxGroups)
			return
		}
		g.order, g.has[ref] = append(g.order, ref), true
	}
}

// layersOff returns a function that reports whether a configuration initially hides a group.
func layersOff(lookup *pdf.Lookup, config pdf.Dict) func(pdf.Ref) bool {
	var on, off groups
	on.add(lookup, lookup.Array(config.Get("ON")))
	off.add(lookup, lookup.Array(config.Get("OFF")))
	allOff := lookup.Value(config.Get("BaseState")).IsName("OFF")
	return func(group pdf.Ref) bool {
		return off.has[group] || allOff && !on.has[group]
	}
}

func (n *inspector) optionalContentGroup(lookup *pdf.Lookup, ref pdf.Ref, on, asked bool) {
	usage := lookup.Dict(lookup.Dict(ref.Value()).Get("Usage"))
	first := "OFF"
	if on {
		first = "ON"
	}
	for _, use := range [][2]string{{"View", "ViewState"}, {"Print", "PrintState"}, {"Export", "ExportState"}} {
		state := lookup.Value(lookup.Dict(usage.Get(use[0])).Get(use[1]))
		if name, ok := state.Name(); ok && name != first {
			n.warn(WarnLayers, "object %d is %s, and %s in the use %s", ref.Num, first, name, use[0])
			return
		}
	}
	if asked && (usage.Get("Zoom") != nil || usage.Get("Language") != nil || usage.Get("User") != nil) {
		n.warn(WarnLayers, "object %d depends on the user or the zoom level", ref.Num)
	}
}
