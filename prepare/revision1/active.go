package revision1

import (
	"bytes"
	"slices"

	"countersign/pdf"
)

// catalog removes the form and active content from the catalog (7.7.2).
func (w *writer) catalog(d pdf.Dict, root pdf.Ref) error {
	touched := false
	if v, ok := w.changed[root]; ok {
		var err error
		if d, err = v.Dict(); err != nil {
			return err
		}
	}
	if w.plan.Form && d.Get("AcroForm") != nil {
		d.Delete("AcroForm")
		touched = true
	}
	if w.plan.Active {
		changed, err := w.catalogActions(&d)
		if err != nil {
			return err
		}
		touched = touched || changed
	}
	if touched {
		w.changed[root] = bytes.Clone(d.Value())
	}
	return nil
}

// catalogActions removes active entries that only the catalog can contain, and reports whether the catalog object
// itself changes.
func (w *writer) catalogActions(d *pdf.Dict) (touched bool, err error) {
	for _, e := range catalogEntries {
		leaves, err := w.finder.isRemoved(*d, e)
		if err != nil {
			return false, err
		}
		if !leaves || w.plan.Form && e.dictionary == "AcroForm" {
			continue
		}
		in, err := w.dict(d.Get(e.dictionary))
		if err != nil {
			return false, err
		}
		before := len(w.counts)
		if e.removed == JavaScriptRemoved {
			if _, err := w.cleaner(0).clean(in.Get(e.key), 0); err != nil { // the content of indirect objects is counted with those objects
				return false, err
			}
			w.scripts = w.scripts || len(w.counts) == before
		} else {
			w.count(e.removed, 0, 1)
		}
		in = in.Clone()
		in.Delete(e.key)
		touched = w.set(d, e.dictionary, in) || touched
	}
	return w.opening(d, touched)
}

// opening removes all actions that run when the document is opened, except a jump to a page.
func (w *writer) opening(d *pdf.Dict, touched bool) (bool, error) {
	becomes, err := w.finder.atOpening(*d)
	if err != nil || becomes == nil {
		return touched, err
	}
	action, err := w.dict(d.Get("OpenAction"))
	if err != nil {
		return false, err
	}
	gone := action.Value() // the content of indirect objects is counted with those objects
	if !becomes.IsNull() {
		gone = action.Get("Next")
	}
	if _, isRef := d.Get("OpenAction").Ref(); isRef && becomes.IsNull() {
		gone = nil
	}
	left, err := w.cleaner(0).clean(gone, 0)
	if err != nil {
		return false, err
	}
	if becomes.IsNull() || !isEmpty(left) {
		w.count(ActionsRemoved, 0, 1)
		w.detail(ActionsRemoved, 0, "document opened")
	}
	if becomes.IsNull() {
		d.Delete("OpenAction")
	} else {
		d.Set("OpenAction", becomes)
	}
	return true, nil
}

// isEmpty reports whether v is null or an array that contains only nulls.
func isEmpty(v pdf.Value) bool {
	list, err := v.Array()
	return v.IsNull() || err == nil && !slices.ContainsFunc(list, func(e pdf.Value) bool { return !e.IsNull() })
}

// set rewrites an entry of the catalog, or the indirect object that the entry refers to. It reports whether the
// catalog object itself changes.
func (w *writer) set(catalog *pdf.Dict, key string, d pdf.Dict) bool {
	if ref, ok := catalog.Get(key).Ref(); ok {
		w.changed[ref] = bytes.Clone(d.Value())
		return false
	}
	catalog.Set(key, bytes.Clone(d.Value()))
	return true
}

// cleaner returns a cleaner that counts removed content on a page.
func (w *writer) cleaner(page int) *cleaner {
	return &cleaner{n: w.finder, report: func(kind string, d pdf.Dict) error {
		w.count(kind, page, 1)
		switch kind {
		case JavaScriptRemoved, MediaRemoved:
		case ActionsRemoved:
			for _, name := range w.events(d) {
				w.detail(kind, page, name)
			}
		case NamedRemoved:
			name, err := w.finder.name(d.Get("N"))
			if err != nil {
				return err
			}
			w.detail(kind, page, plain(name))
		default:
			w.detail(kind, page, w.target(d))
		}
		return w.ctx.Err()
	}}
}

// active removes actions from every object.
func (w *writer) active() error {
	if !w.plan.Active {
		return nil
	}
	count := 0
	err := w.f.Objects(func(o pdf.Object) error {
		if count++; count%64 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		v, ok := w.changed[o.Ref]
		if !ok {
			v = o.Value
		}
		if !mayBeActive(v) {
			return nil
		}
		if o.IsStream() && w.streams[o.Ref] == nil {
			return nil // a stream is not rewritten to change its dictionary; such a file was rejected earlier
		}
		c := w.cleaner(w.pageOf[o.Ref])
		clean, err := c.clean(v, 0)
		if err != nil || !c.touched {
			return err
		}
		w.changed[o.Ref] = bytes.Clone(clean)
		return nil
	})
	if w.scripts && w.counts[Change{Kind: JavaScriptRemoved}] == 0 {
		w.count(JavaScriptRemoved, 0, 1) // a list of scripts that contains no script
	}
	return err
}

// cleaner removes active content from one object.
type cleaner struct {
	n       *Finder
	report  func(kind string, of pdf.Dict) error // called for each removed item
	touched bool
}

// clean returns v without active content. It replaces an action with null.
func (c *cleaner) clean(v pdf.Value, depth int) (pdf.Value, error) {
	if depth > pdf.MaxDepth {
		return nil, pdf.ErrLimit
	}
	switch {
	case v.IsDict():
		d, err := v.Dict()
		if err != nil {
			return nil, err
		}
		kind, err := c.n.actionKind(d)
		if err != nil {
			return nil, err
		}
		if kind != "" {
			c.touched = true
			return pdf.Value("null"), c.report(kind, d)
		}
		return c.dict(v, d, depth)
	case v.IsArray():
		list, err := v.Array()
		if err != nil {
			return nil, err
		}
		touched := false
		for i, e := range list {
			clean, err := c.clean(e, depth+1)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(clean, e) {
				list[i], touched = clean, true
			}
		}
		if touched {
			return pdf.JoinArray(list), nil
		}
	}
	return v, nil
}

func (c *cleaner) dict(v pdf.Value, d pdf.Dict, depth int) (pdf.Value, error) {
	removed, err := c.removedKeys(d)
	if err != nil {
		return nil, err
	}
	out, touched := make(pdf.Dict, 0, len(d)), false
	for _, e := range d {
		if slices.Contains(removed, e.Key) {
			touched = true
			continue
		}
		clean, err := c.clean(e.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(clean, e.Value) {
			touched = true
			if clean.IsNull() {
				continue
			}
			e.Value = clean
		}
		out = append(out, e)
	}
	if !touched {
		return v, nil
	}
	c.touched = true
	return out.Value(), nil
}

// removedKeys returns the keys to remove completely from a dictionary.
func (c *cleaner) removedKeys(d pdf.Dict) ([]string, error) {
	var removed []string
	keys, kind, err := c.n.removedKeys(d)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if d.Get(key) != nil {
			removed = append(removed, key)
		}
	}
	if len(removed) > 0 && kind != "" {
		if err := c.report(kind, d); err != nil {
			return nil, err
		}
	}
	if aa := d.Get("AA"); aa != nil {
		additional, err := c.n.hasEvents(aa)
		if err != nil {
			return nil, err
		}
		if additional {
			if err := c.report(ActionsRemoved, d); err != nil {
				return nil, err
			}
			removed = append(removed, "AA")
		}
	}
	if d.Get("EF") != nil {
		program, err := c.n.isProgram(d)
		if err != nil {
			return nil, err
		}
		if program {
			if err := c.report(ProgramRemoved, d); err != nil {
				return nil, err
			}
			removed = append(removed, "EF", "RF")
		}
	}
	return removed, nil
}
