package admission

import (
	"slices"

	"countersign/seal/pdf"
)

// optionalContent looks for optional content (8.11.4) that is shown in one use of the
// document and hidden in another: on screen, in print, in an export, at a
// magnification, in a language. Some programs follow what a group says of its
// use, some only if the configuration asks for that, and some never do: the
// warning does not depend on who is right.
func (n *inspector) optionalContent(catalog pdf.Dict) error {
	look := &pdf.Lookup{File: n.f}
	props := look.Dict(catalog.Get("OCProperties"))
	config := look.Dict(props.Get("D"))
	off := layersOff(look, config)
	groups := look.Array(props.Get("OCGs"))
	asked := map[pdf.Ref]bool{} // groups that depend on the reader or on the magnification
	for _, u := range look.Array(config.Get("AS")) {
		usage := look.Dict(u)
		of := look.Array(usage.Get("OCGs"))
		groups = append(groups, of...)
		categories := look.Array(usage.Get("Category"))
		if slices.ContainsFunc(categories, func(c pdf.Value) bool { return c.IsName("Zoom") || c.IsName("Language") || c.IsName("User") }) {
			for _, g := range of {
				if ref, ok := g.Ref(); ok {
					asked[ref] = true
				}
			}
		}
	}
	seen := map[pdf.Ref]bool{}
	for _, g := range groups {
		if ref, ok := g.Ref(); ok && !seen[ref] {
			seen[ref] = true
			n.optionalContentGroup(look, ref, !off(ref), asked[ref])
		}
	}
	return look.Err
}

// layersOff returns which groups a configuration has switched off at the beginning.
func layersOff(look *pdf.Lookup, config pdf.Dict) func(pdf.Ref) bool {
	sets := map[string]map[pdf.Ref]bool{"ON": {}, "OFF": {}}
	for key, set := range sets {
		for _, v := range look.Array(config.Get(key)) {
			if ref, ok := v.Ref(); ok {
				set[ref] = true
			}
		}
	}
	allOff := config.Get("BaseState").IsName("OFF")
	return func(group pdf.Ref) bool {
		return sets["OFF"][group] || allOff && !sets["ON"][group]
	}
}

func (n *inspector) optionalContentGroup(look *pdf.Lookup, ref pdf.Ref, on, asked bool) {
	usage := look.Dict(look.Dict(ref.Value()).Get("Usage"))
	first := "OFF"
	if on {
		first = "ON"
	}
	for _, use := range [][2]string{{"View", "ViewState"}, {"Print", "PrintState"}, {"Export", "ExportState"}} {
		state := look.Value(look.Dict(usage.Get(use[0])).Get(use[1]))
		if name, ok := state.Name(); ok && name != first {
			n.warn(WarnLayers, "object %d is %s, and %s in the use %s", ref.Num, first, name, use[0])
			return
		}
	}
	if asked && (usage.Get("Zoom") != nil || usage.Get("Language") != nil || usage.Get("User") != nil) {
		n.warn(WarnLayers, "object %d depends on who reads, or on the magnification", ref.Num)
	}
}
