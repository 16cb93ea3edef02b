package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// HasCorrectLength reports whether a stream's data ends where its Length indicates. If it does not, programs that
// search for "endstream" instead would read different data.
func (f *File) HasCorrectLength(o Object) (bool, error) {
	n, err := f.StreamLength(o)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const near = 16
	b, err := f.in.readAhead(o.Data+n, min(near, f.size-o.Data-n))
	if err != nil {
		return false, err
	}
	return bytes.HasPrefix(bytes.TrimLeft(b, "\r\n\t \x00"), []byte("endstream")), nil
}

// DecodedSizeExceeds reports whether a stream's decoded data exceeds the given number of bytes. If the data cannot be
// decoded completely, only the decoded part is counted.
func (f *File) DecodedSizeExceeds(o Object, most int64) (bool, error) {
	n, err := f.StreamLength(o)
	if err != nil {
		return false, nil //nolint:nilerr // another check reports it
	}
	filters, _, err := f.filters(o)
	if err != nil {
		return false, err
	}
	possible := n
	for range filters {
		possible *= maxRatio
		if possible > most {
			b, err := f.countDecoded(o, most)
			return b > most, err
		}
	}
	return possible > most, nil
}

// maxRatio is an upper bound on the expansion ratio of one filter. LZW has the highest ratio, which slightly exceeds
// the 1032 of Flate.
const maxRatio = 1400

func (f *File) countDecoded(o Object, most int64) (int64, error) {
	r, err := f.streamReader(o)
	if errors.Is(err, ErrFilter) || errors.Is(err, ErrDamaged) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(r, most+1)) // data decoded before an error counts
	f.decoded += n
	if f.decoded > f.maxDecoded() {
		return n, fmt.Errorf("%w: the streams are too large in total", ErrLimit)
	}
	return n, nil
}

// ObjectStreamProblem returns the reason why the objects in an object stream could be interpreted in two ways, or "" if
// there is none.
func (f *File) ObjectStreamProblem(o Object) (string, error) {
	s, err := f.objectStream(o.Ref.Num)
	if err != nil {
		return "", err
	}
	var seen bitset
	end := 0
	for i, at := range s.offsets {
		if s.numbers[i] > maxObjectNum || !seen.add(s.numbers[i]) {
			return "contains an object twice", nil
		}
		if at < end {
			return "contains overlapping objects", nil
		}
		if end, err = skipValue(s.data, SkipSpace(s.data, at), 0); err != nil {
			return "", damaged("object %d in object stream %d: %w", s.numbers[i], s.num, err)
		}
	}
	return "", nil
}

// IsHybrid reports whether part of the file is hidden from old programs (7.5.8.4).
func (f *File) IsHybrid() bool {
	return slices.ContainsFunc(f.sections, func(s section) bool { return s.hybrid != nil })
}

// Trailers returns all trailers as written, newest first.
func (f *File) Trailers() []Value {
	var all []Value
	for i := range f.sections {
		for _, s := range f.sections[i].parts() {
			all = append(all, s.raw)
		}
	}
	return all
}
