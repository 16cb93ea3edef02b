package pagetext

import "countersign/pdf"

// resources are the resources of content (7.8.3). Lookups are cached: content may name a resource a hundred thousand
// times.
type resources struct {
	f      *pdf.File
	value  pdf.Value
	dict   pdf.Dict // of value, once a kind was asked for
	kinds  map[string]map[string]pdf.Value
	faces  map[string]*face     // by name
	texts  map[string]pdf.Value // ActualText of property lists, by name
	states map[string]stateFont // of graphics states, by name
}

func newResources(f *pdf.File, v pdf.Value) *resources {
	return &resources{f: f, value: v, faces: make(map[string]*face), texts: make(map[string]pdf.Value), states: make(map[string]stateFont)}
}

// get returns a resource by kind and name, nil if there is none.
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
		if _, twice := named[e.Key]; !twice { // as Dict.Get has it
			named[e.Key] = e.Value
		}
	}
	r.kinds[kind] = named
	return named[name]
}

// actualText returns the ActualText in the property list of a name (14.6.2, 14.9.4), nil if there is none.
func (r *resources) actualText(name string) pdf.Value {
	v, ok := r.texts[name]
	if !ok {
		v = dict(r.f, r.get("Properties", name)).Get("ActualText")
		r.texts[name] = v
	}
	return v
}

// stateFont is the font and its size that a graphics state sets (8.4.5), nil if it sets none.
type stateFont struct {
	font *face
	size float64
}
