package pdf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
)

// ReferenceScan finds the objects that a file refers to, and determines which of them are missing. A caller that reads
// the file anyway can pass its bytes to Scan, so that they are read only once. Bytes that were not passed to Scan are
// read at the end.
type ReferenceScan struct {
	f          *File
	u          undefined
	places     []objectPlace // unexamined objects, by position
	deferred   []objectPlace // objects skipped by Scan
	compressed []compressed
	headers    headers
	stopped    bool // whether Scan leaves the remaining objects to Undefined
}

// objectPlace is the offset of an object that is not in an object stream.
type objectPlace struct {
	offset int64
	num    int32
}

// ReferenceScan starts a scan. It reads the cross-reference tables and the trailers.
func (f *File) ReferenceScan() (*ReferenceScan, error) {
	m := &ReferenceScan{f: f, u: undefined{used: map[int]int{}, missing: map[int]int{}}}
	err := f.entries(func(num int, e entry) error {
		if m.u.live.add(num); e.gen != 0 && e.kind == entryInUse {
			m.u.used[num] = e.gen
		}
		if e.kind == entryCompressed {
			m.compressed = append(m.compressed, compressed{num, e})
			return nil
		}
		m.places = append(m.places, objectPlace{e.offset, int32(num)}) //nolint:gosec // at most maxObjectNum
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(m.places, func(a, b objectPlace) int { return cmp.Compare(a.offset, b.offset) })
	for i := range f.sections {
		for _, s := range f.sections[i].parts() {
			for _, e := range s.trailer {
				if err := e.Value.References(m.u.visit); err != nil {
					return nil, withLocation(err, "trailer at byte %d", s.at)
				}
			}
			for _, r := range s.ranges {
				m.u.highest = max(m.u.highest, r.first+r.count-1)
			}
		}
	}
	return m, nil
}

// Scan scans the next piece of the file, which must begin where the previous piece ended.
func (m *ReferenceScan) Scan(b []byte) {
	at := m.headers.seen
	m.headers.scan(b)
	end := at + int64(len(b))
	visit := m.u.visit
	for !m.stopped && len(m.places) > 0 && m.places[0].offset < end {
		p := m.places[0]
		if p.offset < max(at, 1) { // no object begins there; reading it later returns the error
			m.stopped = true
			return
		}
		o, err := parseIndirect(b[p.offset-at:], p.offset)
		switch {
		case errors.Is(err, errEnd):
			// The object continues in the next piece. Objects that begin later in this piece would overlap with it.
			for len(m.places) > 0 && m.places[0].offset < end {
				m.deferred, m.places = append(m.deferred, m.places[0]), m.places[1:]
			}
			return
		case err != nil || o.Ref != m.ref(p) || o.Value.References(visit) != nil: // reading it later returns the error
			m.stopped = true
			return
		}
		m.places = m.places[1:]
	}
}

func (m *ReferenceScan) ref(p objectPlace) Ref { return Ref{int(p.num), m.u.used[int(p.num)]} }

// ReferenceSummary contains the references in a file to missing objects, and the highest object number in the file. It
// depends only on the bytes of the file.
type ReferenceSummary struct {
	Undefined []Ref // references to missing objects, sorted by number
	Highest   int   // highest object number that occurs anywhere
}

// Fits reports whether m is consistent with the cross-reference tables of the file.
func (f *File) Fits(m ReferenceSummary) bool {
	if m.Highest < 0 || m.Highest > maxObjectNum || len(m.Undefined) > maxUndefined {
		return false
	}
	last := 0
	for _, ref := range m.Undefined {
		if ref.Num <= last || ref.Num > m.Highest || ref.Gen < 0 || ref.Gen > maxGeneration {
			return false
		}
		last = ref.Num
		if has, err := f.Has(ref.Num); err != nil || has {
			return false
		}
	}
	return true
}

// Find returns the missing objects and the highest object number in the file.
func (m *ReferenceScan) Find(ctx context.Context) (ReferenceSummary, error) {
	refs, highest, err := m.Undefined(ctx)
	if err != nil {
		return ReferenceSummary{}, err
	}
	header, err := m.HighestHeader(ctx)
	return ReferenceSummary{refs, max(highest, header)}, err
}

// Undefined returns the references to missing objects, with their generations, in order, and the highest object number
// mentioned in any object or trailer. Such references mean null (7.3.10), but an object that is appended later, or
// found by a program that scans for objects, would define them.
//
// Undefined examines the newest version of every object, whether referenced or not, and all trailers. It returns an
// error if a number occurs with two generations, because at most one of them can be defined.
func (m *ReferenceScan) Undefined(ctx context.Context) ([]Ref, int, error) {
	count := 0
	visit := func(o Object, err error) error {
		if count++; count%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := o.Value.References(m.u.visit); err != nil {
			return withLocation(err, "object %d", o.Ref.Num)
		}
		return nil
	}
	for _, places := range [][]objectPlace{m.deferred, m.places} {
		for _, p := range places {
			if err := visit(m.f.objectAt(m.ref(p), p.offset)); err != nil {
				return nil, 0, err
			}
		}
	}
	err := m.f.compressedObjects(m.compressed, func(o Object) error { return visit(o, nil) })
	if err != nil {
		return nil, 0, err
	}
	m.deferred, m.places, m.compressed = nil, nil, nil
	refs := make([]Ref, 0, len(m.u.missing))
	for num, gen := range m.u.missing {
		refs = append(refs, Ref{num, gen})
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Num, b.Num) })
	return refs, m.u.highest, nil
}

// HighestHeader returns the highest number in any text that looks like the header of an object ("12 0 obj"). The object
// need not be listed, because a program that scans for objects finds unlisted ones as well.
func (m *ReferenceScan) HighestHeader(ctx context.Context) (int, error) {
	const piece = 256 << 10
	var buf []byte
	for m.headers.seen < m.f.size {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if buf == nil {
			buf = make([]byte, min(piece, m.f.size))
		}
		b := buf[:min(int64(len(buf)), m.f.size-m.headers.seen)]
		if err := readFull(m.f.in.r, b, m.headers.seen); err != nil {
			return 0, err
		}
		m.headers.scan(b)
	}
	return m.headers.highest, nil
}

// headers searches for object headers piece by piece.
type headers struct {
	seen    int64 // number of bytes scanned
	highest int
	last    []byte // last bytes scanned, in which a header might begin
}

// headerSize is the maximum size of a header, including "obj", in bytes.
const headerSize = 32

func (h *headers) scan(b []byte) {
	// Find a header that spans two pieces.
	h.search(append(h.last, b[:min(len(b), headerSize)]...))
	h.search(b)
	h.seen += int64(len(b))
	if len(b) < headerSize {
		b = append(h.last, b...)
	}
	h.last = append(make([]byte, 0, 2*headerSize), b[max(0, len(b)-headerSize):]...)
}

func (h *headers) search(b []byte) {
	for i := 0; ; i += 3 {
		k := bytes.Index(b[i:], []byte("obj"))
		if k < 0 {
			return
		}
		i += k
		if n, ok := numberBefore(b[:i]); ok && n <= maxObjectNum {
			h.highest = max(h.highest, n)
		}
	}
}
