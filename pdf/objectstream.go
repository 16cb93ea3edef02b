package pdf

import (
	"bytes"
	"slices"
)

// objectStream contains several objects in one stream (7.5.7).
type objectStream struct {
	num     int
	data    []byte
	numbers []int
	offsets []int
}

// Limits for the cache of decoded object streams.
const (
	cachedObjectStreams = 32
	cachedObjectBytes   = 4 << 20
)

// compressed reads an object from its object stream.
func (f *File) compressed(num int, e entry) (Value, error) {
	s, err := f.objectStream(e.stream)
	if err != nil {
		return nil, err
	}
	i := e.index
	if i < 0 || i >= len(s.numbers) || s.numbers[i] != num {
		return nil, damaged("object %d is not in object stream %d", num, e.stream)
	}
	start := SkipSpace(s.data, s.offsets[i])
	end, err := skipValue(s.data, start, 0)
	if err != nil {
		return nil, damaged("object %d: %v", num, err)
	}
	return bytes.Clone(s.data[start:end]), f.spend(end - s.offsets[i])
}

func (f *File) objectStream(num int) (*objectStream, error) {
	for i, s := range f.objstms {
		if s.num == num {
			copy(f.objstms[1:i+1], f.objstms[:i])
			f.objstms[0] = s
			return s, nil
		}
	}
	// The length of an object stream can itself be stored in another object stream, recursively.
	if f.nesting++; f.nesting > 8 {
		return nil, damaged("object streams depend on each other in a cycle")
	}
	defer func() { f.nesting-- }()
	e, err := f.lookup(num)
	if err != nil {
		return nil, err
	}
	if e.kind != entryInUse {
		return nil, damaged("object stream %d does not exist", num)
	}
	o, err := f.objectAt(Ref{num, e.gen}, e.offset)
	if err != nil {
		return nil, err
	}
	s, err := f.parseObjectStream(o)
	if err != nil {
		return nil, err
	}
	f.objstms = slices.Insert(f.objstms, 0, s)
	kept := 0
	for i, s := range f.objstms {
		kept += len(s.data)
		if i == cachedObjectStreams || i > 0 && kept > cachedObjectBytes {
			f.objstms = f.objstms[:i]
			break
		}
	}
	return s, nil
}

func (f *File) parseObjectStream(o Object) (*objectStream, error) {
	d, err := o.Value.Dict()
	if err != nil || !o.IsStream() || !d.Get("Type").IsName("ObjStm") {
		return nil, damaged("object %d is not an object stream", o.Ref.Num)
	}
	n, err := f.Int(d.Get("N"))
	if err != nil || n < 0 || n > int64(f.lim.MaxObjects) {
		return nil, damaged("object stream %d: invalid N", o.Ref.Num)
	}
	first, err := f.Int(d.Get("First"))
	if err != nil {
		return nil, err
	}
	data, err := f.StreamData(o)
	if err != nil {
		return nil, err
	}
	if first < 0 || first > int64(len(data)) || n > first {
		return nil, damaged("object stream %d: invalid First", o.Ref.Num)
	}
	s := &objectStream{num: o.Ref.Num, numbers: make([]int, 0, n), offsets: make([]int, 0, n)}
	for i := 0; int64(len(s.numbers)) < n; {
		num, j, ok1 := scanUint(data, SkipSpace(data, i))
		off, k, ok2 := scanUint(data, SkipSpace(data, j))
		if !ok1 || !ok2 || int64(k) > first || off > len(data) {
			return nil, damaged("object stream %d: invalid header", o.Ref.Num)
		}
		s.numbers, s.offsets = append(s.numbers, num), append(s.offsets, int(first)+off)
		i = k
	}
	s.data = append(data, " endobj "...) // terminates the token of the last object
	return s, nil
}
