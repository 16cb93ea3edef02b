package pdf

// Dicts calls visit for every dictionary in v, at any depth, outer ones first.
func (v Value) Dicts(visit func(Dict) error) error { return v.dicts(visit, 0) }

func (v Value) dicts(visit func(Dict) error, depth int) error {
	switch {
	case depth > MaxDepth:
		return errDepth
	case v.IsDict():
		d, err := v.Dict()
		if err != nil {
			return err
		}
		if err := visit(d); err != nil {
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
