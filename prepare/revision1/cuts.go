package revision1

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// ErrNoResources reports that a clone of a form cannot be added to the resources of the form that paints it, because
// that form inherits its resources.
var ErrNoResources = errors.New("prepare: a form that paints another form has no resources")

// numberClones assigns an object number to every clone.
func (w *writer) numberClones() error {
	for _, c := range w.plan.Cuts {
		if c.Clone == 0 {
			continue
		}
		if c.Page != 0 || c.Clone != len(w.clones)+1 {
			return fmt.Errorf("%w: clone %d", errPlan, c.Clone)
		}
		for _, use := range c.Uses {
			if use[1] >= c.Clone { // the clone would paint itself
				return fmt.Errorf("%w: clone %d", errPlan, c.Clone)
			}
		}
		w.clones[c.Clone] = w.out.Reserve()
	}
	return nil
}

// apply applies a cut to content. It returns the changed content, and resources with the names of the clones that the
// content paints. The resources are nil if it paints no clones.
func (w *writer) apply(c Cut, content []byte, v pdf.Value) (changed []byte, resources pdf.Value, err error) {
	own, err := w.dict(v)
	if err != nil {
		return nil, nil, err
	}
	what := pagetext.Removal{Glyphs: make([]pagetext.Position, 0, len(c.Codes)), Forms: make(map[int]string)}
	for _, n := range c.Codes {
		what.Glyphs = append(what.Glyphs, pagetext.Position{Start: int(n[0]), Code: int(n[1]), Length: int(n[2]), Advance: n[3]})
	}
	if own != nil {
		lists, err := w.dict(own.Get("Properties"))
		if err != nil {
			return nil, nil, err
		}
		what.Properties = func(name string) pdf.Dict {
			d, _ := w.dict(lists.Get(name)) // an unreadable list replaces no text
			return d
		}
	}
	if len(c.Uses) > 0 {
		if own == nil {
			return nil, nil, ErrNoResources
		}
		forms, err := w.dict(own.Get("XObject"))
		if err != nil {
			return nil, nil, err
		}
		forms = forms.Clone()
		for _, use := range c.Uses {
			clone, ok := w.clones[use[1]]
			if !ok {
				return nil, nil, fmt.Errorf("%w: clone %d does not exist", errPlan, use[1])
			}
			name := "Clone" + strconv.Itoa(use[1])
			for v := forms.Get(name); v != nil && !bytes.Equal(v, clone.Value()); v = forms.Get(name) {
				name += "_"
			}
			forms.Set(name, clone.Value())
			what.Forms[use[0]] = name
		}
		own = own.Clone()
		own.Set("XObject", forms.Value())
		resources = bytes.Clone(own.Value())
	}
	changed, err = pagetext.Remove(content, what)
	return changed, resources, err
}

// forms removes glyphs from form XObjects or from clones of them.
func (w *writer) forms() error {
	for _, c := range w.plan.Cuts[w.done:] {
		ref := pdf.Ref{Num: c.Form}
		o, err := w.f.Object(ref)
		if err != nil {
			return err
		}
		if c.Clone != 0 {
			ref = w.clones[c.Clone]
		}
		if c.Page != 0 || !o.IsStream() || w.streams[ref] != nil {
			return fmt.Errorf("%w: cut of page %d, object %d", errPlan, c.Page, c.Form)
		}
		content, err := w.f.StreamData(o)
		if err != nil {
			return fmt.Errorf("form %d: %w", c.Form, err)
		}
		d, err := o.Value.Dict()
		if err != nil {
			return err
		}
		content, resources, err := w.apply(c, content, d.Get("Resources"))
		if err != nil {
			return fmt.Errorf("form %d: %w", c.Form, err)
		}
		v := o.Value
		if resources != nil {
			d = d.Clone()
			d.Set("Resources", resources)
			v = d.Value()
		}
		w.streams[ref], w.changed[ref] = content, bytes.Clone(v)
	}
	return nil
}

// texts removes replacement texts from dictionaries.
func (w *writer) texts() error {
	places := slices.Clone(w.plan.Inline)
	slices.Reverse(places) // inner dictionaries first, so that the indexes of outer ones do not change
	for _, num := range w.plan.Texts {
		places = append(places, [2]int{num, 0})
	}
	for _, place := range places {
		ref := pdf.Ref{Num: place[0]}
		o, err := w.f.Object(ref)
		if err != nil {
			return err
		}
		v := o.Value
		if w.changed[ref] != nil {
			v = w.changed[ref]
		}
		left := place[1]
		out, err := withoutTexts(v, &left, 0)
		if err != nil {
			return err
		}
		if o.IsStream() || left >= 0 || place[1] < 0 {
			return fmt.Errorf("%w: object %d", errPlan, place[0])
		}
		w.changed[ref] = bytes.Clone(out)
	}
	return nil
}

// withoutTexts removes the texts from one of the dictionaries in v. The parameter left is the number of dictionaries that
// precede this one, where outer dictionaries precede inner ones. It becomes negative when the texts have been removed.
func withoutTexts(v pdf.Value, left *int, depth int) (pdf.Value, error) {
	switch {
	case depth > pdf.MaxDepth:
		return nil, pdf.ErrLimit
	case *left < 0:
	case v.IsDict():
		d, err := v.Dict()
		if err != nil {
			return nil, err
		}
		if *left--; *left < 0 {
			d = d.Clone()
			for _, key := range []string{"ActualText", "Alt", "E"} {
				d.Delete(key)
			}
			if d.Get("Subtype") != nil { // an annotation
				d.Delete("Contents")
				d.Delete("RC")
			}
			return d.Value(), nil
		}
		for i := range d {
			if d[i].Value, err = withoutTexts(d[i].Value, left, depth+1); err != nil {
				return nil, err
			}
		}
		return d.Value(), nil
	case v.IsArray():
		list, err := v.Array()
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i], err = withoutTexts(list[i], left, depth+1); err != nil {
				return nil, err
			}
		}
		return pdf.JoinArray(list), nil
	}
	return v, nil
}
