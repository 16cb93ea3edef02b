package pagetext

import "countersign/pdf"

// resources provides access to the resources of content (7.8.3). It caches lookups, because content can refer to a
// resource a hundred thousand times.
type resources struct {
	f      *pdf.File
	value  pdf.Value
	dict   pdf.Dict // dictionary of value, after the first request
	kinds  map[string]map[string]pdf.Value
	faces  map[string]*face     // by name
	texts  map[string]pdf.Value // ActualText of property lists, by name
	states map[string]stateFont // fonts of graphics states, by name
}

func newResources(f *pdf.File, v pdf.Value) *resources {
	return &resources{f: f, value: v, faces: make(map[string]*face), texts: make(map[string]pdf.Value), states: make(map[string]stateFont)}
}

// get returns a resource by type and name, or nil if there is none.
func (r *resources) get(kind, name string) pdf.Value {
	named, ok := r.kinds[kind]
	if ok {
		return named[name]
	}
	if r.kinds == nil {
		r.kinds = make(map[string]map[string]pdf.Value)
		r.dict = dict(r.f, r.value)
	}
	all := dict(r.f, r.dict.Get(kind))
	named = make(map[string]pdf.Value, len(all))
	for _, e := range all {
		if _, twice := named[e.Key]; !twice { // the first of several equal keys is used, as in Dict.Get
			named[e.Key] = e.Value
		}
	}
	r.kinds[kind] = named
	return named[name]
}

// actualText returns the ActualText in the property list with the given name (14.6.2, 14.9.4), or nil if there is none.
func (r *resources) actualText(name string) pdf.Value {
	v, ok := r.texts[name]
	if !ok {
		v = dict(r.f, r.get("Properties", name)).Get("ActualText")
		r.texts[name] = v
	}
	return v
}

// stateFont is the font and size set by a graphics state (8.4.5). The font is nil if the state sets none.
type stateFont struct {
	font *face
	size float64
}
