package pdf

// Names calls visit for every name that stands as a value in v, at any depth:
// neither keys of dictionaries nor what strings hold.
func (v Value) Names(visit func(name string)) error { return v.names(visit, 0) }

func (v Value) names(visit func(string), depth int) error {
	if depth > MaxDepth {
		return errDepth
	}
	switch {
	case v.IsDict():
		d, err := v.Dict()
		if err != nil {
			return err
		}
		for _, e := range d {
			if err := e.Value.names(visit, depth+1); err != nil {
				return err
			}
		}
	case v.IsArray():
		a, err := v.Array()
		if err != nil {
			return err
		}
		for _, e := range a {
			if err := e.names(visit, depth+1); err != nil {
				return err
			}
		}
	default:
		if n, ok := v.Name(); ok {
			visit(n)
		}
	}
	return nil
}
