// Package revision1 writes an appended prepared revision, which is an incremental update (ISO 32000-2, 7.5.6) that
// removes content from a PDF and adds nothing visible. Section numbers refer to ISO 32000-2:2020.
//
// The package is frozen, because verification of a sealed document must be able to regenerate its prepared revision
// for decades. Nothing is compressed, because no library guarantees the same compressed output for that long. A
// different format requires a new package. Test vectors detect changes in the output.
package revision1

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// Version is the version of this format in seal records.
const Version = 1

// Plan defines the content that a revision removes.
type Plan struct {
	// Active specifies whether to remove active content: the content listed in actionTypes, activeKeys and
	// catalogEntries, additional actions, actions that run when the document is opened, and attached programs.
	Active bool `json:"activeContent,omitempty"`
	// Form specifies whether to remove the interactive form and its widgets.
	Form bool `json:"form,omitempty"`
	// Cuts lists the glyphs to remove from content streams. The cuts of pages come first, in page order, followed by
	// the cuts of clones and the cuts of forms.
	Cuts []Cut `json:"cuts,omitempty"`
	// Texts lists the object numbers of structure elements and property lists from which to remove replacement texts
	// (14.9). It also lists annotations from which to remove Contents and rich text.
	Texts []int `json:"texts,omitempty"`
	// Inline lists dictionaries of the same kinds that are inside other objects. Each is identified by the number of
	// the object and the index of the dictionary in it. Outer dictionaries come first, and index 0 is the object
	// itself.
	Inline [][2]int `json:"inline,omitempty"`
}

// Cut defines the glyphs to remove from the content of a page or form XObject.
type Cut struct {
	Page int `json:"page,omitempty"` // starting at 1
	Form int `json:"form,omitempty"` // object number of the form, if Page is 0
	// Clone is the number, starting at 1, of a copy of the form. A copy is required if only some uses of the form lose
	// content.
	Clone int `json:"clone,omitempty"`
	Tags  int `json:"tags,omitempty"` // number of tags removed from the page, including those in forms
	// Codes lists runs of character codes. Each entry contains the start of the string in the decoded content, the
	// start of the run in the string, the number of bytes, and the displacement in thousandths of the font size.
	Codes [][4]float64 `json:"codes,omitempty"`
	// Uses lists the Do operators that paint a clone instead of its form. Each entry contains the start of the operand
	// in the decoded content and the number of the clone.
	Uses [][2]int `json:"uses,omitempty"`
}

// Change describes content removed by a revision.
type Change struct {
	Kind   string `json:"kind"`
	Page   int    `json:"page,omitempty"` // starting at 1; 0 if not on a page
	Count  int    `json:"count"`
	Detail string `json:"detail,omitempty"`
}

// Values of Change.Kind.
const (
	TagsRemoved       = "tags_removed"
	FormImported      = "form_imported"
	JavaScriptRemoved = "javascript_removed"
	LaunchRemoved     = "launch_removed"
	SubmitRemoved     = "submit_form_removed"
	ImportRemoved     = "import_data_removed"
	ActionsRemoved    = "additional_actions_removed"
	XFARemoved        = "xfa_removed"
	FileLinkRemoved   = "file_link_removed"    // link to another file, which may be attached
	LinkRemoved       = "link_removed"         // link other than to a web, email or telephone address
	NamedRemoved      = "named_action_removed" // viewer menu command
	MediaRemoved      = "media_removed"        // sound, video, 3D and rich media
	ProgramRemoved    = "program_removed"      // attached program
	RightsRemoved     = "usage_rights_removed"
)

// maxSize is the maximum size of a revision, in bytes.
const maxSize = 24 << 20

// errPlan reports that a plan does not match its file.
var errPlan = errors.New("prepare: the plan does not match the document")

// Write returns the bytes to append to the file, and the resulting changes by kind and page. It returns no bytes if
// the plan removes nothing. The hash is the file's SHA-256 hash. The errors are errPlan, pagetext.ErrReplacedText,
// pdf.ErrLimit, the context's error, and errors from reading the file.
func Write(ctx context.Context, f *pdf.File, hash [sha256.Size]byte, plan Plan) ([]byte, []Change, error) {
	w := &writer{
		ctx: ctx, f: f, plan: plan, changed: make(map[pdf.Ref]pdf.Value), streams: make(map[pdf.Ref][]byte),
		pageOf: make(map[pdf.Ref]int), counts: make(map[Change]int), details: make(map[Change][]string), clones: make(map[int]pdf.Ref),
		finder: NewFinder(f), keys: make(map[pdf.Ref][]string),
	}
	w.finder.ctx = ctx
	catalog, root, err := f.Catalog()
	if err != nil {
		return nil, nil, err
	}
	if w.out, err = pdf.NewIncrement(f); err != nil {
		return nil, nil, err
	}
	scan, err := f.ReferenceScan()
	if err != nil {
		return nil, nil, err
	}
	mentioned, err := scan.Find(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := w.out.DefineUndefined(mentioned); err != nil {
		return nil, nil, err
	}
	for _, step := range []func() error{w.texts, w.numberClones, w.pages, w.forms, func() error { return w.catalog(catalog.Clone(), root) }, w.active} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	if len(w.changed) == 0 && len(w.streams) == 0 {
		return nil, nil, nil
	}
	refs := slices.AppendSeq(slices.Collect(maps.Keys(w.changed)), maps.Keys(w.streams))
	slices.SortFunc(refs, func(a, b pdf.Ref) int { return cmp.Or(cmp.Compare(a.Num, b.Num), cmp.Compare(a.Gen, b.Gen)) })
	size := 0
	for _, ref := range refs {
		size += len(w.changed[ref]) + len(w.streams[ref]) + 128
	}
	w.out.Grow(len(refs), min(size, maxSize))
	for _, ref := range slices.Compact(refs) {
		if data, ok := w.streams[ref]; ok {
			w.putStream(ref, w.changed[ref], data)
		} else {
			w.out.Put(ref, w.changed[ref])
		}
		if len(w.out.Bytes()) > maxSize {
			return nil, nil, fmt.Errorf("%w: the prepared revision is larger than %d MiB", pdf.ErrLimit, maxSize>>20)
		}
	}
	if err := w.out.Finish(root, nil, hash[:16]); err != nil {
		return nil, nil, err
	}
	return w.out.Bytes(), w.changes(), nil
}

// writer collects the rewritten parts of a revision.
type writer struct {
	ctx     context.Context //nolint:containedctx // of one call
	f       *pdf.File
	out     *pdf.Increment
	plan    Plan
	changed map[pdf.Ref]pdf.Value
	streams map[pdf.Ref][]byte // by reference of the stream
	pageOf  map[pdf.Ref]int    // page numbers of pages, annotations and their actions
	counts  map[Change]int     // keys have no Count or Detail
	details map[Change][]string
	clones  map[int]pdf.Ref
	done    int // number of completed cuts of pages
	finder  *Finder
	keys    map[pdf.Ref][]string // event keys of objects
	scripts bool                 // whether a list of scripts is removed, even an empty one
}

// putStream writes a stream unchanged and uncompressed.
func (w *writer) putStream(ref pdf.Ref, dict pdf.Value, data []byte) {
	d, _ := dict.Dict() // a new stream has no dictionary
	d = d.Clone()
	for _, key := range []string{"Filter", "DecodeParms", "DL"} {
		d.Delete(key)
	}
	d.Set("Length", pdf.Value(strconv.Itoa(len(data))))
	w.out.Begin(ref)
	w.out.Append(d.Value())
	w.out.AppendString("\nstream\n")
	w.out.Append(data)
	w.out.AppendString("\nendstream")
	w.out.End()
}

// pages removes the planned content from pages, and records the pages of annotations.
func (w *writer) pages() error {
	reader := pagetext.NewReader(w.f)
	_, err := w.f.Walk(func(p *pdf.Page) error {
		d, page, touched := p.Dict.Clone(), p.Index+1, false
		if v, ok := w.changed[p.Ref]; ok {
			var err error
			if d, err = v.Dict(); err != nil {
				return err
			}
		}
		w.pageOf[p.Ref] = page
		if cuts := w.plan.Cuts[w.done:]; len(cuts) > 0 && cuts[0].Page == page {
			w.done++
			w.count(TagsRemoved, page, cuts[0].Tags)
			if len(cuts[0].Codes)+len(cuts[0].Uses) > 0 {
				content, err := reader.Content(p)
				if err != nil {
					return err
				}
				content, resources, err := w.apply(cuts[0], content, p.Resources)
				if err != nil {
					return fmt.Errorf("page %d: %w", page, err)
				}
				if resources != nil {
					d.Set("Resources", resources)
				}
				ref := w.out.Reserve()
				w.streams[ref] = content
				d.Set("Contents", ref.Value())
				touched = true
			}
		}
		if w.plan.Form || w.plan.Active {
			rest, widgets, err := w.annotations(d.Get("Annots"), page)
			if err != nil {
				return err
			}
			if w.plan.Form && widgets > 0 {
				w.count(FormImported, page, widgets)
				d.Set("Annots", pdf.JoinArray(rest))
				touched = true
			}
		}
		if touched {
			w.changed[p.Ref] = bytes.Clone(d.Value())
		}
		return w.ctx.Err()
	})
	return err
}

// annotations records the annotations on a page and their actions. It returns the annotations that are not widgets, and
// the number of widgets.
func (w *writer) annotations(v pdf.Value, page int) (rest []pdf.Value, widgets int, err error) {
	if v, err = w.resolve(v); err != nil || !v.IsArray() {
		return nil, 0, err
	}
	list, err := v.Array()
	if err != nil {
		return nil, 0, err
	}
	for _, a := range list {
		if w.ctx.Err() != nil { // all entries may refer to the same large object
			return nil, 0, w.ctx.Err()
		}
		d, err := w.dict(a)
		if err != nil {
			return nil, 0, err
		}
		if ref, ok := a.Ref(); ok && w.plan.Active {
			w.note(ref, page)
			for _, key := range []string{"A", "PA", "AA"} {
				if ref, ok := d.Get(key).Ref(); ok {
					w.note(ref, page)
				}
			}
			actions, err := w.dict(d.Get("AA"))
			if err != nil {
				return nil, 0, err
			}
			for _, e := range actions {
				if ref, ok := e.Value.Ref(); ok {
					w.note(ref, page)
				}
			}
		}
		kind, err := w.resolve(d.Get("Subtype"))
		if err != nil {
			return nil, 0, err
		}
		if kind.IsName("Widget") {
			widgets++
			continue
		}
		rest = append(rest, a)
	}
	return rest, widgets, nil
}

func (w *writer) note(ref pdf.Ref, page int) {
	if w.pageOf[ref] == 0 {
		w.pageOf[ref] = page
	}
}

// dict resolves v and returns it as a dictionary, or nil if it is not a dictionary.
func (w *writer) dict(v pdf.Value) (pdf.Dict, error) {
	v, err := w.resolve(v)
	if err != nil || !v.IsDict() {
		return nil, err
	}
	return v.Dict()
}

// resolve resolves v and returns it in its rewritten form.
func (w *writer) resolve(v pdf.Value) (pdf.Value, error) {
	if ref, ok := v.Ref(); ok && w.changed[ref] != nil {
		return w.changed[ref], nil
	}
	return w.f.Resolve(v)
}
