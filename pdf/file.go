package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits limits the cost of reading one file.
type Limits struct {
	MaxObjects int   // number of objects in use
	MaxPages   int   // number of leaves in the page tree
	MaxObject  int64 // size of one object in bytes, excluding its stream
	MaxStream  int64 // decoded size in bytes of one stream that must be read completely
	MaxParsed  int64 // total bytes of all objects read; an object counts each time it is read
}

// DefaultLimits returns limits that are sufficient for documents with several thousand pages.
func DefaultLimits() Limits {
	return Limits{MaxObjects: 1_000_000, MaxPages: 10_000, MaxObject: 4 << 20, MaxStream: 16 << 20, MaxParsed: 2 << 30}
}

// ErrDamaged is wrapped by every error about a file that violates the standard in a way that forces other programs to
// guess.
var ErrDamaged = errors.New("pdf: file is damaged")

// ErrLimit is wrapped by every error about a file that exceeds the limits.
var ErrLimit = errors.New("pdf: file exceeds the limits")

// TooManyPagesError reports that a file has more pages than the limit.
type TooManyPagesError struct{ Max int }

// Error returns a message with the limit.
func (e *TooManyPagesError) Error() string {
	return fmt.Sprintf("%v: more than %d pages", ErrLimit, e.Max)
}

// Unwrap returns ErrLimit.
func (e *TooManyPagesError) Unwrap() error { return ErrLimit }

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// File is a PDF that is read lazily. It is not safe for concurrent use.
type File struct {
	in       *blockReader
	size     int64
	lim      Limits
	sections []section // cross-reference sections, newest first
	newest   []uint16  // by object number, 1 + the index of the newest section that lists it; created on demand
	start    int64     // offset in the last startxref
	trailer  Dict
	objstms  []*objectStream // cached object streams, most recently used first
	nesting  int             // nesting depth of object streams being read
	decoded  int64           // decoded bytes so far
	parsed   int64           // parsed bytes so far
	content  []byte          // reusable buffer for the content of a page
}

// Open reads the cross-reference sections of a PDF.
func Open(r io.ReaderAt, size int64, lim Limits) (*File, error) {
	f := &File{in: newBlockReader(r, size), size: size, lim: lim}
	if err := f.readSections(); err != nil {
		return nil, err
	}
	return f, nil
}

// Trailer returns the newest trailer dictionary (7.5.5), or the dictionary of the newest cross-reference stream.
func (f *File) Trailer() Dict { return f.trailer }

// StartXRef returns the position of the newest cross-reference section.
func (f *File) StartXRef() int64 { return f.start }

// UsesXRefStream reports whether the newest cross-reference section is a stream. An increment must use the same type
// (7.5.8.4).
func (f *File) UsesXRefStream() bool { return f.sections[0].isStream }

// Size returns the length of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Object is an indirect object.
type Object struct {
	Ref   Ref
	Value Value
	// Data is the offset of the stream data, or 0 if the object is not a stream.
	Data int64
	// Start and End are the offsets of the object's value in the file. Both are 0 if the object is in an object stream.
	Start, End int64
}

// IsStream reports whether the object is a stream (7.3.8).
func (o Object) IsStream() bool { return o.Data > 0 }

// Object reads an indirect object. A missing object is null (7.3.10).
func (f *File) Object(ref Ref) (Object, error) {
	e, err := f.lookup(ref.Num)
	if err != nil {
		return Object{}, err
	}
	switch e.kind { //nolint:exhaustive // objects in use are read below
	case entryFree:
		return Object{Ref: ref}, nil
	case entryCompressed:
		if ref.Gen != 0 { // objects in object streams have generation 0 (7.5.7)
			return Object{Ref: ref}, nil
		}
		v, err := f.compressed(ref.Num, e)
		return Object{Ref: ref, Value: v}, err
	}
	if e.gen != ref.Gen {
		return Object{Ref: ref}, nil
	}
	return f.objectAt(ref, e.offset)
}

// objectAhead is like Object, but for an object that is probably far from everything read before.
func (f *File) objectAhead(ref Ref) (Object, error) {
	e, err := f.lookup(ref.Num)
	if err == nil && e.kind == entryInUse && e.gen == ref.Gen && e.offset > 0 && e.offset < f.size {
		const usual = 256 // typical size of a stream's dictionary in bytes
		b, err := f.in.readAhead(e.offset, min(usual, f.size-e.offset))
		if err != nil {
			return Object{}, err
		}
		if o, err := parseIndirect(b, e.offset); err == nil && o.Ref == ref {
			o.Value = bytes.Clone(o.Value) // b belongs to the block reader
			return o, f.spend(len(b))
		}
	}
	return f.Object(ref)
}

// Resolve follows references until it reaches a direct value. For a stream it returns the dictionary.
func (f *File) Resolve(v Value) (Value, error) { return f.follow(v, true) }

// ResolvePlain is like Resolve, but fails for a stream. Some programs accept a stream as a dictionary and others do
// not. Rewriting the stream would turn it into a dictionary for all of them.
func (f *File) ResolvePlain(v Value) (Value, error) { return f.follow(v, false) }

func (f *File) follow(v Value, streams bool) (Value, error) {
	for range 16 {
		ref, ok := v.Ref()
		if !ok {
			return v, nil
		}
		o, err := f.Object(ref)
		if err != nil {
			return nil, err
		}
		if o.IsStream() && !streams {
			return nil, damaged("object %d is a stream, not a dictionary", ref.Num)
		}
		v = o.Value
	}
	return nil, damaged("circular references")
}

// Dict resolves v and returns it as a dictionary.
func (f *File) Dict(v Value) (Dict, error) { return resolveAs(f, v, Value.Dict, "a dictionary") }

// Array resolves v and returns the elements of the array.
func (f *File) Array(v Value) ([]Value, error) { return resolveAs(f, v, Value.Array, "an array") }

func resolveAs[T any](f *File, v Value, as func(Value) (T, error), what string) (T, error) {
	var none T
	v, err := f.ResolvePlain(v)
	if err != nil {
		return none, err
	}
	t, err := as(v)
	if err != nil {
		return none, damaged("expected %s", what)
	}
	return t, nil
}

// Int resolves v and returns it as an integer.
func (f *File) Int(v Value) (int64, error) {
	v, err := f.Resolve(v)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int()
	if !ok {
		return 0, damaged("expected an integer")
	}
	return n, nil
}

// objectAt reads the indirect object whose header is at the given offset.
func (f *File) objectAt(ref Ref, offset int64) (Object, error) {
	if offset <= 0 || offset >= f.size {
		return Object{}, damaged("object %d lies outside the file, at byte %d", ref.Num, offset)
	}
	for n := int64(512); ; n *= 4 {
		b, err := f.in.read(offset, min(n, f.size-offset))
		if err != nil {
			return Object{}, err
		}
		o, err := parseIndirect(b, offset)
		switch {
		case err == nil && o.Ref != ref:
			return Object{}, damaged("object %d is not at its position in the cross-reference table, byte %d", ref.Num, offset)
		case err == nil:
			o.Value = bytes.Clone(o.Value)                     // b belongs to the block reader
			return o, f.spend(SkipSpace(b, int(o.End-offset))) // count white space too, because it takes time to skip
		case !errors.Is(err, errEnd):
			return Object{}, damaged("object %d, at byte %d: %w", ref.Num, offset, err)
		case offset+n >= f.size:
			return Object{}, damaged("object %d is truncated, at byte %d", ref.Num, offset)
		case n > f.lim.MaxObject:
			return Object{}, fmt.Errorf("%w: object %d is too large", ErrLimit, ref.Num)
		}
	}
}

// spend counts the bytes of an object that was read. Reading must be limited, because a file can refer to one large
// object, or to many small ones, any number of times.
func (f *File) spend(n int) error {
	const each = 64 // accounts for the time to find the object
	if f.parsed += int64(n) + each; f.parsed > f.lim.MaxParsed {
		return fmt.Errorf("%w: too many references to objects", ErrLimit)
	}
	return nil
}

// peekSize is the number of bytes that are read to examine the beginning of an object.
const peekSize = 48

// startsArray reports whether an object is an array. It usually reads only the beginning of an uncompressed object.
func (f *File) startsArray(ref Ref) (array bool, err error) {
	e, err := f.lookup(ref.Num)
	if err != nil || e.kind == entryFree {
		return false, err
	}
	if e.kind == entryInUse && e.offset > 0 && e.offset < f.size {
		b, err := f.in.readAhead(e.offset, min(peekSize, f.size-e.offset))
		if err != nil {
			return false, err
		}
		if i := bytes.Index(b, []byte("obj")); i > 0 {
			if j := SkipSpace(b, i+3); j < len(b) && b[j] != '%' {
				return b[j] == '[', nil
			}
		}
	}
	o, err := f.Object(ref)
	return o.Value.IsArray(), err
}

// parseIndirect parses "12 0 obj … endobj" at the start of b, which is at offset base in the file.
func parseIndirect(b []byte, base int64) (Object, error) {
	var o Object
	num, i, ok := scanUint(b, SkipSpace(b, 0))
	if !ok {
		return o, errors.New("no object number")
	}
	gen, i, ok := scanUint(b, SkipSpace(b, i))
	if !ok {
		return o, errors.New("no generation number")
	}
	i = SkipSpace(b, i)
	if i+3 >= len(b) {
		return o, errEnd
	}
	if string(b[i:i+3]) != "obj" {
		return o, errors.New("no obj keyword")
	}
	o.Ref = Ref{num, gen}
	start := SkipSpace(b, i+3)
	end, err := skipValue(b, start, 0)
	if err != nil {
		return o, err
	}
	o.Value = b[start:end]
	o.Start, o.End = base+int64(start), base+int64(end)
	if string(o.Value) == "endobj" { // an empty object is null
		o.Value = nil
		return o, nil
	}
	i = SkipSpace(b, end)
	if i+8 > len(b) {
		return o, errEnd
	}
	if o.Value.IsDict() && string(b[i:i+6]) == "stream" {
		i += 6
		switch { // CR LF or LF (7.3.8.1); old files also contain a lone CR
		case b[i] == '\r' && b[i+1] == '\n':
			i += 2
		case b[i] == '\n' || b[i] == '\r':
			i++
		}
		o.Data = base + int64(i)
		return o, nil
	}
	if string(b[i:i+6]) != "endobj" {
		return o, errors.New("no endobj keyword")
	}
	return o, nil
}
