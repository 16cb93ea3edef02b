// Package pdf reads a PDF lazily and writes incremental updates to it.
//
// It keeps objects in their written form (Value), so that unknown objects are copied unchanged and only requested
// values are decoded. Section numbers refer to ISO 32000-2:2020. While reading, it limits depth, counts and sizes, and
// detects loops.
package pdf

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth is the maximum nesting depth of arrays and dictionaries.
const MaxDepth = 128

var (
	errEnd       = damaged("truncated object")
	errDepth     = damaged("objects are nested too deeply")
	errDelimiter = damaged("unexpected delimiter")
	errKey       = damaged("dictionary key is not a name")
	errNotDict   = damaged("not a dictionary")
	errNotArray  = damaged("not an array")
)

// Value is one object in its written form (7.3), without leading white space. A nil Value is the null object, which is
// also the result for a missing dictionary key.
type Value []byte

// Ref is an indirect reference (7.3.10).
type Ref struct{ Num, Gen int }

// Value returns the reference in its written form.
func (r Ref) Value() Value { return r.Append(make([]byte, 0, 12)) }

// Append appends the reference to b.
func (r Ref) Append(b []byte) []byte {
	b = strconv.AppendInt(b, int64(r.Num), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.Gen), 10)
	return append(b, " R"...)
}

// Entry is one key of a dictionary with its value.
type Entry struct {
	Key   string // decoded name without the slash
	Value Value
}

// Append appends the entry to b as one line.
func (e Entry) Append(b []byte) []byte {
	b = append(AppendName(b, e.Key), ' ')
	if e.Value == nil {
		b = append(b, "null"...)
	}
	return append(append(b, e.Value...), '\n')
}

// Dict is a dictionary (7.3.7) with its entries in written order.
type Dict []Entry

// Get returns the value of a key, or nil.
func (d Dict) Get(key string) Value {
	for i := range d {
		if d[i].Key == key {
			return d[i].Value
		}
	}
	return nil
}

// Set replaces the value of a key, or adds the key at the end.
func (d *Dict) Set(key string, v Value) {
	for i := range *d {
		if (*d)[i].Key == key {
			(*d)[i].Value = v
			return
		}
	}
	*d = append(*d, Entry{key, v})
}

// Delete removes a key.
func (d *Dict) Delete(key string) {
	*d = slices.DeleteFunc(*d, func(e Entry) bool { return e.Key == key })
}

// Clone returns a copy that can be modified without changing d.
func (d Dict) Clone() Dict { return append(make(Dict, 0, len(d)+4), d...) }

// Append appends the dictionary to b.
func (d Dict) Append(b []byte) []byte {
	b = append(b, "<<"...)
	for _, e := range d {
		b = e.Append(b)
	}
	return append(b, ">>"...)
}

// Value returns the dictionary in its written form.
func (d Dict) Value() Value { return d.Append(nil) }

// AppendName appends a name (7.3.5).
func AppendName(b []byte, name string) []byte {
	b = append(b, '/')
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c > '~' || c == '#' || IsDelimiter(c) {
			b = append(b, '#', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
			continue
		}
		b = append(b, c)
	}
	return b
}

// IsNull reports whether v is the null object.
func (v Value) IsNull() bool { return len(v) == 0 || string(v) == "null" }

// Bool reports whether v is the boolean true.
func (v Value) Bool() bool { return string(v) == "true" }

// Int returns v as an integer.
func (v Value) Int() (int64, bool) {
	if len(v) == 0 || len(v) > 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// Float returns v as an integer or real number (7.3.3).
func (v Value) Float() (float64, bool) {
	if len(v) == 0 || len(v) > 64 {
		return 0, false
	}
	for _, c := range v { // PDF has no hexadecimal numbers, exponents, Inf or NaN
		if (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// Name returns v as a decoded name.
func (v Value) Name() (string, bool) {
	if len(v) < 1 || v[0] != '/' {
		return "", false
	}
	return decodeName(v[1:]), true
}

// IsName reports whether v is the given name.
func (v Value) IsName(name string) bool {
	if len(v) == 0 || v[0] != '/' {
		return false
	}
	if bytes.IndexByte(v, '#') < 0 {
		return string(v[1:]) == name
	}
	return decodeName(v[1:]) == name
}

// Ref returns v as an indirect reference.
func (v Value) Ref() (Ref, bool) {
	if len(v) < 5 || v[len(v)-1] != 'R' || v[0] < '0' || v[0] > '9' {
		return Ref{}, false
	}
	num, i, ok := scanUint(v, 0)
	if !ok {
		return Ref{}, false
	}
	gen, _, ok := scanUint(v, SkipSpace(v, i))
	return Ref{num, gen}, ok
}

// IsDict reports whether v is a dictionary.
func (v Value) IsDict() bool { return len(v) >= 2 && v[0] == '<' && v[1] == '<' }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return len(v) >= 1 && v[0] == '[' }

// Dict returns the entries of a dictionary. If a key is repeated, the last value counts if the key is among the first
// 64, and otherwise the first value counts. Uploads with a repeated key are rejected (see RepeatedKey).
func (v Value) Dict() (Dict, error) { return v.DictInto(make(Dict, 0, 12)) }

// DictInto is like Dict, but appends to d, which must be empty, to reuse its memory.
func (v Value) DictInto(d Dict) (Dict, error) {
	if !v.IsDict() {
		return nil, errNotDict
	}
	d, _, err := v.dictAt(0, d, nil)
	return d, err
}

// dictAt parses the dictionary that begins at v[i] and returns its end. If repeated is not nil, it is set to the result
// of RepeatedKey.
func (v Value) dictAt(i int, d Dict, repeated *string) (Dict, int, error) {
	begin := i
	if !v[min(i, len(v)):].IsDict() {
		return nil, 0, errNotDict
	}
	for i += 2; ; {
		i = SkipSpace(v, i)
		if i+1 >= len(v) {
			return nil, 0, errEnd
		}
		if v[i] == '>' && v[i+1] == '>' {
			if repeated != nil && len(d) >= searchedKeys {
				var err error
				*repeated, err = v[begin : i+2].RepeatedKey()
				return d, i + 2, err
			}
			return d, i + 2, nil
		}
		if v[i] != '/' {
			return nil, 0, errKey
		}
		end := skipRegular(v, i+1)
		key := keyName(v[i+1:end], d)
		start := SkipSpace(v, end)
		stop, err := skipValue(v, start, 1)
		if err != nil {
			return nil, 0, err
		}
		if len(d) < searchedKeys {
			if repeated != nil {
				if old := d.Get(key); old != nil && !bytes.Equal(old, v[start:stop]) {
					*repeated = key
				}
			}
			d.Set(key, v[start:stop:stop])
		} else { // in a large dictionary, linear search would take quadratic time
			d = append(d, Entry{key, v[start:stop:stop]})
		}
		i = stop
	}
}

// searchedKeys is the maximum number of keys that are compared with each new key.
const searchedKeys = 64

// Array returns the elements of an array.
func (v Value) Array() ([]Value, error) {
	if !v.IsArray() {
		return nil, errNotArray
	}
	out := make([]Value, 0, max(4, len(v)/16))
	for i := 1; ; {
		element, end, err := v.element(i)
		if err != nil {
			return nil, err
		}
		if element == nil {
			return out, nil
		}
		out = append(out, element)
		i = end
	}
}

// element returns the array element that begins at or after v[i], and its end. It returns nil after the last element.
func (v Value) element(i int) (Value, int, error) {
	i = SkipSpace(v, i)
	if i >= len(v) {
		return nil, i, errEnd
	}
	if v[i] == ']' {
		return nil, i, nil
	}
	end, err := skipValue(v, i, 1)
	if err != nil {
		return nil, i, err
	}
	return v[i:end:end], end, nil
}

// commonNames contains common names, so that their strings are allocated only once.
var commonNames = func() map[string]string {
	m := map[string]string{}
	for name := range strings.FieldsSeq("Type Parent MediaBox CropBox Rotate Resources Contents Annots Kids Count Length Filter " +
		"DecodeParms Subtype Font XObject ExtGState ColorSpace ProcSet Group Tabs StructParents Trans BleedBox TrimBox ArtBox UserUnit") {
		m[name] = name
	}
	return m
}()

// keyName decodes the next key of d. The memory of d previously contained another dictionary, usually that of the
// previous page, with the same keys. If the next key is equal to the one in that memory, keyName reuses its string.
func keyName(b []byte, d Dict) string {
	if n := len(d); n < cap(d) && d[:n+1][n].Key == string(b) && bytes.IndexByte(b, '#') < 0 {
		return d[:n+1][n].Key
	}
	return decodeName(b)
}

func decodeName(b []byte) string {
	if s, ok := commonNames[string(b)]; ok {
		return s
	}
	if bytes.IndexByte(b, '#') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '#' && i+2 < len(b) {
			if n, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return string(out)
}
