package revision1

import (
	"bytes"
	"context"

	"countersign/seal/pdf"
)

// catalog takes the form, its XFA, the scripts of the document and the action at
// its opening out of the catalog (7.7.2).
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
		form, err := w.dict(d.Get("AcroForm"))
		if err != nil {
			return err
		}
		if form.Get("XFA") != nil {
			w.count(XFARemoved, 0, 1)
			form = form.Clone()
			form.Delete("XFA")
			touched = w.set(&d, "AcroForm", form) || touched
		}
		names, err := w.dict(d.Get("Names"))
		if err != nil {
			return err
		}
		if scripts := names.Get("JavaScript"); scripts != nil {
			c := cleaner{w: w} // what stands in objects of its own is counted there
			if _, err := c.clean(scripts, 0); err != nil {
				return err
			}
			names = names.Clone()
			names.Delete("JavaScript")
			touched = w.set(&d, "Names", names) || touched
		}
	}
	if touched {
		w.changed[root] = bytes.Clone(d.Value())
	}
	return nil
}

// set writes an entry of the catalog anew, as the object that it refers to if it
// does; it tells whether the catalog itself changes.
func (w *writer) set(catalog *pdf.Dict, key string, d pdf.Dict) bool {
	if ref, ok := catalog.Get(key).Ref(); ok {
		w.changed[ref] = bytes.Clone(d.Value())
		return false
	}
	catalog.Set(key, bytes.Clone(d.Value()))
	return true
}

// active takes actions out of every object.
func (w *writer) active() error {
	if !w.plan.Active {
		return nil
	}
	count := 0
	return w.f.Objects(func(o pdf.Object) error {
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
		c := cleaner{w: w, page: w.pageOf[o.Ref]}
		clean, err := c.clean(v, 0)
		if err != nil || !c.touched {
			return err
		}
		if o.IsStream() && w.streams[o.Ref] == nil {
			return nil // no stream is an action, and none is written anew for one in its dictionary
		}
		w.changed[o.Ref] = bytes.Clone(clean)
		return nil
	})
}

// mayBeActive tells quickly that an object holds no action that leaves.
func mayBeActive(v pdf.Value) bool {
	for _, word := range []string{"JavaScript", "Launch", "SubmitForm", "ImportData", "/AA", "/JS", "#"} {
		if bytes.Contains(v, []byte(word)) {
			return true
		}
	}
	return false
}

// Finder finds in a file what a revision without active content leaves out. It keeps
// what it has read: a file may refer to a large object from each of its dictionaries.
type Finder struct {
	f          *pdf.File
	additional map[pdf.Ref]bool // whether it is additional actions
	dicts      map[pdf.Ref]bool // whether it is a dictionary
}

// maxKept bounds what is kept of each kind.
const maxKept = 1 << 16

// NewFinder returns one for a file.
func NewFinder(f *pdf.File) *Finder {
	return &Finder{f: f, additional: make(map[pdf.Ref]bool), dicts: make(map[pdf.Ref]bool)}
}

// IsActive reports whether an object holds something that a revision without active
// content leaves out.
func (n *Finder) IsActive(ctx context.Context, v pdf.Value) (bool, error) {
	if !mayBeActive(v) {
		return false, nil
	}
	active := false
	err := v.Dicts(func(d pdf.Dict, _ string) error {
		if active = active || actionKind(d) != ""; active {
			return nil
		}
		aa := d.Get("AA")
		if aa == nil {
			return nil
		}
		var err error
		active, err = n.hasEvents(ctx, aa)
		return err
	})
	return active, err
}

// hasEvents reports whether what a key AA refers to is additional actions (12.6.3): a dictionary with an
// action for an event. Resources, glyphs and destinations can be called AA, too.
func (n *Finder) hasEvents(ctx context.Context, v pdf.Value) (bool, error) {
	return n.is(ctx, v, n.additional, func(v pdf.Value) (bool, error) {
		if !v.IsDict() {
			return false, nil
		}
		d, err := v.Dict()
		for _, e := range d {
			if eventNames[e.Key] == "" {
				continue
			}
			found, err := n.is(ctx, e.Value, n.dicts, func(v pdf.Value) (bool, error) { return v.IsDict(), nil })
			if found || err != nil {
				return found, err
			}
		}
		return false, err
	})
}

// is asks something of what v is or refers to, once for each object.
func (n *Finder) is(ctx context.Context, v pdf.Value, known map[pdf.Ref]bool, ask func(pdf.Value) (bool, error)) (bool, error) {
	ref, isRef := v.Ref()
	if !isRef {
		return ask(v)
	}
	if yes, ok := known[ref]; ok {
		return yes, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	v, err := n.f.Resolve(v)
	if err != nil {
		return false, err
	}
	yes, err := ask(v)
	if len(known) >= maxKept {
		clear(known)
	}
	known[ref] = yes
	return yes, err
}

// actionKind returns the kind of change that takes an action out (12.6.4), "" if it stays.
func actionKind(d pdf.Dict) string {
	if d.Get("Type").IsName("StructElem") {
		return ""
	}
	kind, _ := d.Get("S").Name()
	switch kind {
	case "JavaScript":
		return JavaScriptRemoved
	case "Launch":
		return LaunchRemoved
	case "SubmitForm":
		return SubmitRemoved
	case "ImportData":
		return ImportRemoved
	case "Rendition":
		if d.Get("JS") != nil {
			return JavaScriptRemoved
		}
	}
	return ""
}

// cleaner takes actions out of one object.
type cleaner struct {
	w       *writer
	page    int
	touched bool
}

// clean returns v without actions that leave: null in place of one.
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
		if kind := actionKind(d); kind != "" {
			if err := c.w.ctx.Err(); err != nil {
				return nil, err
			}
			c.w.count(kind, c.page, 1)
			if kind != JavaScriptRemoved {
				c.w.detail(kind, c.page, c.w.target(d))
			}
			c.touched = true
			return pdf.Value("null"), nil
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
	out, touched := make(pdf.Dict, 0, len(d)), false
	for _, e := range d {
		additional := false
		if e.Key == "AA" {
			var err error
			if additional, err = c.w.finder.hasEvents(c.w.ctx, e.Value); err != nil {
				return nil, err
			}
		}
		if additional {
			c.w.count(ActionsRemoved, c.page, 1)
			for _, name := range c.w.events(d) {
				c.w.detail(ActionsRemoved, c.page, name)
			}
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
