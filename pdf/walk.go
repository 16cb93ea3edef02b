package pdf

// Dicts calls visit for every dictionary in v, at any depth, starting with the outer ones. The argument repeated of
// visit is the result of RepeatedKey for the dictionary.
func (v Value) Dicts(visit func(d Dict, repeated string) error) error {
	return v.walk(visit, func(Value) {}, 0)
}

// Names calls visit for every name that is a value in v, at any depth. It ignores dictionary keys and the content of
// strings.
func (v Value) Names(visit func(name string)) error {
	return v.walk(func(Dict, string) error { return nil }, func(v Value) {
		if n, ok := v.Name(); ok {
			visit(n)
		}
	}, 0)
}

// walk calls one of two functions for each value in v: the argument dict for a dictionary, and the argument other for a
// value that is neither a dictionary nor an array.
func (v Value) walk(dict func(d Dict, repeated string) error, other func(Value), depth int) error {
	switch {
	case depth > MaxDepth:
		return errDepth
	case v.IsDict():
		var repeated string
		d, _, err := v.dictAt(0, make(Dict, 0, 12), &repeated)
		if err != nil {
			return err
		}
		if err := dict(d, repeated); err != nil {
			return err
		}
		for _, e := range d {
			if err := e.Value.walk(dict, other, depth+1); err != nil {
				return err
			}
		}
	case v.IsArray():
		a, err := v.Array()
		if err != nil {
			return err
		}
		for _, e := range a {
			if err := e.walk(dict, other, depth+1); err != nil {
				return err
			}
		}
	default:
		other(v)
	}
	return nil
}
