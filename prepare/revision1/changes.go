package revision1

import (
	"cmp"
	"slices"
	"strings"

	"countersign/seal/pdf"
)

// bounds of Change.Detail.
const (
	maxDetails = 5  // different ones
	maxDetail  = 80 // bytes of one
)

func (w *writer) count(kind string, page, n int) {
	if n > 0 {
		w.counts[Change{Kind: kind, Page: page}] += n
	}
}

// detail adds to what is said of a kind of change on a page.
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

// target returns what an action starts, or where it sends or takes data from: the name of
// a program or file, or an address without password and query.
func (w *writer) target(action pdf.Dict) string {
	v := action.Get("F")
	for range 3 { // F is a text, or a file specification (7.11.3); that of Launch may be in Win
		d, err := w.dict(v)
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
	if v == nil {
		win, _ := w.dict(action.Get("Win")) // no name is told then
		v = win.Get("F")
	}
	v, err := w.resolve(v)
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

// plain returns text in printable ASCII, without commas, of bounded length.
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

// events returns the names of the events that the additional actions of something are for (12.6.3).
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

// keptKeys are the keys of events in an object, before or after it was changed.
type keptKeys struct {
	keys    []string
	changed bool
}

// eventKeys returns the different keys of events in what v is or refers to, once for each object.
func (w *writer) eventKeys(v pdf.Value) []string {
	ref, isRef := v.Ref()
	changed := w.changed[ref] != nil
	if known, ok := w.keys[ref]; ok && isRef && known.changed == changed {
		return known.keys
	}
	d, err := w.dict(v)
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
		if len(w.keys) >= maxKept {
			clear(w.keys)
		}
		w.keys[ref] = keptKeys{keys, changed}
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
