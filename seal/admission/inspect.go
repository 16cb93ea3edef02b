package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"countersign/pdf"
	"countersign/prepare/revision1"
	"countersign/seal/rejection"
)

// Warning describes a legitimate PDF feature that programs may render differently.
type Warning struct {
	Code   string `json:"code"`
	Count  int    `json:"count"`
	Detail string `json:"detail,omitempty"` // detail of the first occurrence
}

// Values of Warning.Code.
const (
	WarnFont       = "font_not_embedded"
	WarnAppearance = "annotation_without_appearance"
	WarnOverprint  = "overprint"
	WarnHybrid     = "hybrid_file"
	WarnActions    = "shows_and_hides"
	WarnExtends    = "object_stream_extends"
	WarnLayers     = "layers_by_use"  // shown on screen but not printed, or vice versa
	WarnRedrawn    = "fields_redrawn" // viewers are requested to redraw form fields
	WarnPortfolio  = "portfolio"      // some viewers show the list of files instead of the pages
	// WarnPDFA reports that the file claims conformance to PDF/A. The sealed file makes no such claim.
	WarnPDFA = "pdfa_claim_removed"
)

// inspector examines each object of an upload once.
type inspector struct {
	f        *pdf.File
	lim      Limits
	attached bool // the file is attached to a document and stays unchanged
	finder   *revision1.Finder
	contents map[pdf.Ref]bool // content streams of pages
	info     map[pdf.Ref]bool // document information dictionaries (14.3.3), which are not displayed
	warnings map[string]*Warning
	streams  []extent // positions of object streams
}

type extent struct{ start, end int64 }

// maxContent is the maximum size of the decoded content of a page or form, in bytes.
const maxContent = 64 << 20

func newInspector(f *pdf.File, lim Limits, attached bool) *inspector {
	return &inspector{f: f, finder: revision1.NewFinder(f), lim: lim, attached: attached, contents: map[pdf.Ref]bool{}, info: map[pdf.Ref]bool{}, warnings: map[string]*Warning{}}
}

func (n *inspector) warn(code, format string, args ...any) {
	if w := n.warnings[code]; w != nil {
		w.Count++
		return
	}
	n.warnings[code] = &Warning{Code: code, Count: 1, Detail: safeText(fmt.Sprintf(format, args...))}
}

// warningList returns the warnings sorted by code.
func (n *inspector) warningList() []Warning {
	var out []Warning
	for _, code := range slices.Sorted(maps.Keys(n.warnings)) {
		out = append(out, *n.warnings[code])
	}
	return out
}

func (n *inspector) objects(ctx context.Context) error {
	count := 0
	err := n.f.Objects(func(o pdf.Object) error {
		if count++; count > n.lim.MaxObjects {
			return rejection.New(rejection.PDFTooComplex, fmt.Sprintf("The PDF has more than %d objects.", n.lim.MaxObjects))
		}
		if count%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := n.object(ctx, o); err != nil {
			return fmt.Errorf("%w: object %d: %w", pdf.ErrDamaged, o.Ref.Num, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(n.streams, func(a, b extent) int { return int(a.start - b.start) })
	for i := 1; i < len(n.streams); i++ {
		if n.streams[i].start <= n.streams[i-1].end { // if the offsets are equal, one stream's header is inside the other stream's data
			return rejection.Ambiguous("object streams overlap at byte %d", n.streams[i].start)
		}
	}
	return nil
}

func (n *inspector) object(ctx context.Context, o pdf.Object) error {
	if _, ok := o.Value.Ref(); ok { // some programs follow only the first reference of a chain, others the whole chain
		return rejection.Ambiguous("object %d contains only a reference to another object", o.Ref.Num)
	}
	if err := n.activeContent(ctx, o); err != nil {
		return err
	}
	if o.IsStream() {
		if err := n.stream(o); err != nil {
			return err
		}
	}
	return o.Value.Dicts(func(d pdf.Dict, repeated string) error {
		if err := ctx.Err(); err != nil { // resolving references takes time
			return err
		}
		if repeated != "" && !n.info[o.Ref] {
			return rejection.Ambiguous("object %d has the key %s twice", o.Ref.Num, safeText(repeated))
		}
		return n.dict(ctx, o, d)
	})
}

// activeContent returns *activeError if removing active content would change the object.
func (n *inspector) activeContent(ctx context.Context, o pdf.Object) error {
	kind, err := n.finder.Active(ctx, o.Value)
	if err == nil && kind != "" {
		err = &activeError{kind}
	}
	return err
}

func (n *inspector) stream(o pdf.Object) error {
	d, err := o.Value.Dict()
	if err != nil {
		return err
	}
	if d.Get("F") != nil {
		return rejection.New(rejection.PDFActiveContent, fmt.Sprintf("The data of stream %d is in another file.", o.Ref.Num))
	}
	if d.Get("DP") != nil { // some programs interpret it as DecodeParms
		return rejection.Ambiguous("stream %d has the key DP, which only inline images have", o.Ref.Num)
	}
	kind, err := n.f.Resolve(d.Get("Subtype"))
	if err != nil {
		return err
	}
	ends, err := n.f.HasCorrectLength(o)
	if err != nil {
		return err
	}
	if !ends {
		return rejection.Ambiguous("stream %d, at byte %d, does not end at the position given by its Length", o.Ref.Num, o.Data)
	}
	switch {
	case d.Get("Type").IsName("ObjStm"):
		size, err := n.f.StreamLength(o)
		if err != nil {
			return err
		}
		n.streams = append(n.streams, extent{o.Data, o.Data + size})
		if !d.Get("Extends").IsNull() {
			n.warn(WarnExtends, "object %d", o.Ref.Num)
		}
		problem, err := n.f.ObjectStreamProblem(o)
		if err != nil {
			return err
		}
		if problem != "" {
			return rejection.Ambiguous("object stream %d %s", o.Ref.Num, problem)
		}
	case n.contents[o.Ref], kind.IsName("Form"), d.Get("PatternType") != nil:
		large, err := n.f.DecodedSizeExceeds(o, maxContent)
		if err != nil {
			return err
		}
		if large {
			return rejection.New(rejection.PDFTooComplex, fmt.Sprintf("The PDF is too complex: the content of stream %d is larger than %d MiB.", o.Ref.Num, maxContent>>20))
		}
	}
	return nil
}

func (n *inspector) dict(ctx context.Context, o pdf.Object, d pdf.Dict) error {
	if !n.attached && d.Get("EF") != nil {
		if err := n.fileSpec(d); err != nil {
			return err
		}
	}
	lookup := &pdf.Lookup{File: n.f}
	switch kind, _ := lookup.Value(d.Get("Type")).Name(); kind {
	case "ExtGState":
		if lookup.Value(d.Get("OP")).Bool() || lookup.Value(d.Get("op")).Bool() {
			n.warn(WarnOverprint, "object %d", o.Ref.Num)
		}
		return lookup.Err
	case "Font":
		return n.font(o, d)
	case "StructElem", "Page", "Pages", "FontDescriptor", "XObject":
		return nil
	}
	if kind, ok := lookup.Value(d.Get("Subtype")).Name(); ok && d.Get("Rect") != nil {
		return n.annotation(o, d, kind)
	}
	if lookup.Err != nil {
		return lookup.Err
	}
	action, err := n.finder.Shows(ctx, d)
	if action != "" {
		n.warn(WarnActions, "%s in object %d", action, o.Ref.Num)
	}
	return err
}

// font adds a warning for a font that programs replace with different fonts.
func (n *inspector) font(o pdf.Object, d pdf.Dict) error {
	kind, err := n.f.Resolve(d.Get("Subtype"))
	if err != nil {
		return err
	}
	switch kind, _ := kind.Name(); kind {
	case "Type1", "MMType1", "TrueType", "CIDFontType0", "CIDFontType2":
	default:
		return nil
	}
	desc, err := pdf.OptionalDict(n.f, d.Get("FontDescriptor"))
	if err != nil || !desc.Get("FontFile").IsNull() || !desc.Get("FontFile2").IsNull() || !desc.Get("FontFile3").IsNull() {
		return err
	}
	name, _ := d.Get("BaseFont").Name()
	n.warn(WarnFont, "%s in object %d", name, o.Ref.Num)
	return nil
}

// annotation adds a warning for an annotation that programs draw differently.
func (n *inspector) annotation(o pdf.Object, d pdf.Dict, kind string) error {
	const hidden = 1<<1 | 1<<5 // Hidden, NoView (12.5.3)
	v, err := n.f.Resolve(d.Get("F"))
	if flags, _ := v.Int(); err != nil || flags&hidden != 0 {
		return err
	}
	switch kind {
	case "Link", "Popup", "Form", "Image":
		return nil
	}
	if d.Get("AP").IsNull() {
		n.warn(WarnAppearance, "%s in object %d", kind, o.Ref.Num)
	}
	return nil
}
