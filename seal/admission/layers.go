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
	props, err := pdf.OptionalDict(n.f, catalog.Get("OCProperties"))
	if err != nil || props == nil {
		return err
	}
	config, err := pdf.OptionalDict(n.f, props.Get("D"))
	if err != nil {
		return err
	}
	off, err := n.layersOff(config)
	if err != nil {
		return err
	}
	groups, err := pdf.ArrayIn(n.f, props.Get("OCGs"))
	if err != nil {
		return err
	}
	usages, err := pdf.ArrayIn(n.f, config.Get("AS"))
	if err != nil {
		return err
	}
	asked := map[pdf.Ref]bool{} // groups that depend on the reader or on the magnification
	for _, u := range usages {
		usage, err := pdf.OptionalDict(n.f, u)
		if err != nil {
			return err
		}
		of, err := pdf.ArrayIn(n.f, usage.Get("OCGs"))
		if err != nil {
			return err
		}
		groups = append(groups, of...)
		categories, err := pdf.ArrayIn(n.f, usage.Get("Category"))
		if err != nil {
			return err
		}
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
		ref, ok := g.Ref()
		if !ok || seen[ref] {
			continue
		}
		seen[ref] = true
		if err := n.optionalContentGroup(ref, !off(ref), asked[ref]); err != nil {
			return err
		}
	}
	return nil
}

// layersOff returns which groups a configuration has switched off at the beginning.
func (n *inspector) layersOff(config pdf.Dict) (func(pdf.Ref) bool, error) {
	sets := map[string]map[pdf.Ref]bool{"ON": {}, "OFF": {}}
	for key, set := range sets {
		list, err := pdf.ArrayIn(n.f, config.Get(key))
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			if ref, ok := v.Ref(); ok {
				set[ref] = true
			}
		}
	}
	allOff := config.Get("BaseState").IsName("OFF")
	return func(group pdf.Ref) bool {
		return sets["OFF"][group] || allOff && !sets["ON"][group]
	}, nil
}

func (n *inspector) optionalContentGroup(ref pdf.Ref, on, asked bool) error {
	group, err := pdf.OptionalDict(n.f, ref.Value())
	if err != nil || group == nil {
		return err
	}
	usage, err := pdf.OptionalDict(n.f, group.Get("Usage"))
	if err != nil || usage == nil {
		return err
	}
	first := "OFF"
	if on {
		first = "ON"
	}
	for _, use := range [][2]string{{"View", "ViewState"}, {"Print", "PrintState"}, {"Export", "ExportState"}} {
		d, err := pdf.OptionalDict(n.f, usage.Get(use[0]))
		if err != nil {
			return err
		}
		state, err := n.f.Resolve(d.Get(use[1]))
		if err != nil {
			return err
		}
		if name, ok := state.Name(); ok && name != first {
			n.warn(WarnLayers, "object %d is %s, and %s in the use %s", ref.Num, first, name, use[0])
			return nil
		}
	}
	if asked && (usage.Get("Zoom") != nil || usage.Get("Language") != nil || usage.Get("User") != nil) {
		n.warn(WarnLayers, "object %d depends on who reads, or on the magnification", ref.Num)
	}
	return nil
}
