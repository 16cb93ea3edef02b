package revision1

import (
	"cmp"
	"slices"
	"strings"

	"countersign/pdf"
)

// Limits for Change.Detail.
const (
	maxDetails = 5  // number of distinct details
	maxDetail  = 80 // size of one detail in bytes
)

func (w *writer) count(kind string, page, n int) {
	if n > 0 {
		w.counts[Change{Kind: kind, Page: page}] += n
	}
}

// detail adds a detail to a kind of change on a page.
func (w *writer) detail(kind string, page int, text string) {
	key := Change{Kind: kind, Page: page}
	if text != "" && len(w.details[key]) < maxDetails && !slices.Contains(w.details[key], text) {
		w.details[key] = append(w.details[key], text)
	}
}

func (w *writer) changes() []Change {
	out := make([]Change, 0, len(w.counts))
	for c, n := range w.counts {
		details := w.details[c]
		slices.Sort(details)
		c.Count, c.Detail = n, strings.Join(details, ", ")
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Page, b.Page)) })
	return out
}

// target returns the program, file or address that an action or annotation refers to. It omits passwords and queries
// from addresses.
func (w *writer) target(of pdf.Dict) string {
	if of.Get("EF") != nil { // a file specification
		return w.fileName(of)
	}
	for _, key := range []string{"URI", "FS"} {
		if v := of.Get(key); v != nil {
			return w.address(v)
		}
	}
	v := of.Get("F")
	if v == nil {
		win, _ := w.finder.dict(of.Get("Win")) // on an error, there is no name
		v = win.Get("F")
	}
	return w.address(v)
}

// address resolves v, which is a string or a file specification (7.11.3), and returns it without password and query.
func (w *writer) address(v pdf.Value) string {
	for range 3 { // the value of a Launch action can be nested
		d, err := w.finder.dict(v)
		if err != nil {
			return ""
		}
		if d == nil {
			break
		}
		if v = d.Get("F"); v == nil {
			v = d.Get("UF")
		}
	}
	v, err := w.f.Resolve(v)
	if err != nil {
		return ""
	}
	b, _ := v.Bytes()
	text, _, _ := strings.Cut(pdf.DecodeText(b), "?")
	text, _, _ = strings.Cut(text, "#")
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			text = scheme + "://" + host[at+1:]
			if path != "" {
				text += "/" + path
			}
		}
	}
	return plain(text)
}

// fileName returns the first name in a file specification.
func (w *writer) fileName(spec pdf.Dict) string {
	for _, key := range []string{"UF", "F", "DOS", "Mac", "Unix"} {
		v, err := w.f.Resolve(spec.Get(key))
		if err != nil {
			return ""
		}
		if b, ok := v.Bytes(); ok {
			return plain(pdf.DecodeText(b))
		}
	}
	return ""
}

// plain returns a string of printable ASCII characters, without commas and of limited length.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= maxDetail {
			break
		}
		if r < ' ' || r > '~' || r == ',' {
			r = '?'
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// events returns the names of the events for which an object has additional actions (12.6.3).
func (w *writer) events(of pdf.Dict) []string {
	var names []string
	for _, key := range w.eventKeys(of.Get("AA")) {
		if key == "C" && !of.Get("Type").IsName("Page") {
			names = append(names, "value computed")
		} else {
			names = append(names, eventNames[key])
		}
	}
	return names
}

// eventKeys resolves v and returns the distinct event keys in it. It caches the result for each object.
func (w *writer) eventKeys(v pdf.Value) []string {
	ref, isRef := v.Ref()
	if known, ok := w.keys[ref]; ok && isRef {
		return known
	}
	d, err := w.finder.dict(v)
	if err != nil {
		return nil
	}
	var keys []string
	for _, e := range d {
		if eventNames[e.Key] != "" && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	if isRef {
		if len(w.keys) >= maxCachedAnswers {
			clear(w.keys)
		}
		w.keys[ref] = keys
	}
	return keys
}

//nolint:gochecknoglobals // a constant table
var eventNames = map[string]string{
	"E": "pointer enters", "X": "pointer leaves", "D": "button pressed", "U": "button released", "Fo": "focus", "Bl": "focus lost",
	"PO": "page opened", "PC": "page closed", "PV": "page shown", "PI": "page hidden", "O": "page opened", "C": "page closed",
	"K": "key pressed", "F": "value formatted", "V": "value changed",
	"WC": "document closed", "WS": "before saving", "DS": "after saving", "WP": "before printing", "DP": "after printing",
}
