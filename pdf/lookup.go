package pdf

// Lookup follows references in a file. It keeps the first error and finds nothing afterwards, so that callers check Err
// once after several lookups.
type Lookup struct {
	File *File
	Err  error
}

// Value returns what v is or refers to.
func (l *Lookup) Value(v Value) Value {
	if l.Err != nil {
		return nil
	}
	v, l.Err = l.File.Resolve(v)
	return v
}

// Dict returns the dictionary that v is or refers to, nil if it is none.
func (l *Lookup) Dict(v Value) (d Dict) {
	if v = l.Value(v); v.IsDict() {
		d, l.Err = v.Dict()
	}
	return d
}

// Array returns the elements of the array that v is or refers to, none for null. Anything else is an error.
func (l *Lookup) Array(v Value) (a []Value) {
	if v = l.Value(v); !v.IsNull() {
		a, l.Err = v.Array()
	}
	return a
}
