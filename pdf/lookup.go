package pdf

// Lookup resolves references in a file. It records the first error and returns nil afterwards, so that callers can
// check Err once after several lookups.
type Lookup struct {
	File *File
	Err  error
}

// Value resolves v.
func (l *Lookup) Value(v Value) Value {
	if l.Err != nil {
		return nil
	}
	v, l.Err = l.File.Resolve(v)
	return v
}

// Dict resolves v and returns it as a dictionary, or nil if it is not a dictionary.
func (l *Lookup) Dict(v Value) (d Dict) {
	if v = l.Value(v); v.IsDict() {
		d, l.Err = v.Dict()
	}
	return d
}

// Array resolves v and returns the elements of the array, or nil for null. Any other value is an error.
func (l *Lookup) Array(v Value) (a []Value) {
	if v = l.Value(v); !v.IsNull() {
		a, l.Err = v.Array()
	}
	return a
}
