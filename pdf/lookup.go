package pdf

// Lookup resolves references in a file. It records the first error and returns nil afterwards, so that callers can
// check Err once after several lookups.
type Lookup struct {
	File *File
	Err  error
}

// Value returns v, resolving v if it is a reference.
func (l *Lookup) Value(v Value) Value {
	if l.Err != nil {
		return nil
	}
	v, l.Err = l.File.Resolve(v)
	return v
}

// Dict returns the dictionary v, resolving v if it is a reference. It returns nil for any other value.
func (l *Lookup) Dict(v Value) (d Dict) {
	if v = l.Value(v); v.IsDict() {
		d, l.Err = v.Dict()
	}
	return d
}

// Array returns the elements of the array v, resolving v if it is a reference. It returns nil for null. Any other value
// is an error.
func (l *Lookup) Array(v Value) (a []Value) {
	if v = l.Value(v); !v.IsNull() {
		a, l.Err = v.Array()
	}
	return a
}
