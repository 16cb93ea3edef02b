package pdf

// Dicts calls visit for every dictionary in v, at any depth, outer ones first,
// with a key that it repeats, as RepeatedKey says.
func (v Value) Dicts(visit func(d Dict, repeated string) error) error { return v.dicts(visit, 0) }

func (v Value) dicts(visit func(Dict, string) error, depth int) error {
	switch {
	case depth > MaxDepth:
		return errDepth
	case v.IsDict():
		var repeated string
		d, _, err := v.dictAt(0, make(Dict, 0, 12), &repeated)
		if err != nil {
			return err
		}
		if err := visit(d, repeated); err != nil {
			return err
		}
		for _, e := range d {
			if err := e.Value.dicts(visit, depth+1); err != nil {
				return err
			}
		}
	case v.IsArray():
		a, err := v.Array()
		if err != nil {
			return err
		}
		for _, e := range a {
			if err := e.dicts(visit, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
