package pdf

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
)

type entryKind uint8

const (
	entryFree entryKind = iota
	entryInUse
	entryCompressed
)

// entry says where an object is: at offset, or as the index-th object of an
// object stream.
type entry struct {
	kind          entryKind
	offset        int64
	gen           int
	stream, index int
}

// section is one cross-reference section. Entries are not decoded until they
// are looked up, so that memory does not grow with the number of objects.
type section struct {
	at       int64
	trailer  Dict
	isStream bool
	hybrid   *section // the one that XRefStm names (7.5.8.4)
	ranges   []subsection
	widths   [3]int // of a stream's fields
	data     []byte // of a stream, decoded
}

// subsection covers the objects first … first+count-1. Its entries begin at
// pos: in the file (table, 20 bytes each) or in the section's data (stream).
type subsection struct {
	first, count int
	pos          int64
}

const (
	maxSections    = 512
	maxSubsections = 1 << 16
	tableEntry     = 20 // bytes; 7.5.4
	maxObjectNum   = 8_388_607
)

// readSections follows the chain of cross-reference sections from the end of
// the file.
func (f *File) readSections() error {
	n := min(f.size, 2048)
	tail, err := f.in.read(f.size-n, n)
	if err != nil {
		return err
	}
	i := bytes.LastIndex(tail, []byte("startxref"))
	if i < 0 || !bytes.Contains(tail[i:], []byte("%%EOF")) {
		return damaged("no end-of-file marker")
	}
	at, _, ok := scanUint(tail, skipSpace(tail, i+9))
	if !ok {
		return damaged("no position after startxref")
	}
	f.start = int64(at)
	seen := map[int64]bool{}
	subsections, data := 0, int64(0)
	for next := f.start; ; {
		if seen[next] || len(f.sections) >= maxSections {
			return damaged("cross-reference sections form a circle")
		}
		seen[next] = true
		s, err := f.readSection(next)
		if err != nil {
			return err
		}
		if x := s.trailer.Get("XRefStm"); x != nil && !s.isStream {
			pos, err := f.Int(x)
			if err != nil {
				return err
			}
			h, err := f.readSection(pos)
			if err != nil {
				return err
			}
			s.hybrid = &h
			subsections += len(h.ranges)
			data += int64(len(h.data))
		}
		subsections += len(s.ranges)
		data += int64(len(s.data))
		if subsections > maxSubsections || data > f.lim.MaxStream {
			return fmt.Errorf("%w: too many cross-reference entries", ErrLimit)
		}
		f.sections = append(f.sections, s)
		prev := s.trailer.Get("Prev")
		if prev == nil {
			break
		}
		if next, ok = prev.Int(); !ok {
			return damaged("bad Prev in a trailer")
		}
	}
	f.trailer = f.sections[0].trailer
	return f.checkObjects()
}

func (f *File) checkObjects() error {
	total := 0
	for _, s := range f.sections {
		for _, r := range s.ranges {
			total += r.count
		}
	}
	if total > 2*f.lim.MaxObjects {
		return fmt.Errorf("%w: more than %d objects", ErrLimit, f.lim.MaxObjects)
	}
	if n, ok := f.trailer.Get("Size").Int(); !ok || n < 1 || n > maxObjectNum+1 {
		return damaged("bad Size in the trailer")
	}
	if _, ok := f.trailer.Get("Root").Ref(); !ok {
		return damaged("no Root in the trailer")
	}
	return nil
}

func (f *File) readSection(at int64) (section, error) {
	if at < 0 || at >= f.size {
		return section{}, damaged("cross-reference section outside the file")
	}
	b, err := f.in.read(at, min(32, f.size-at))
	if err != nil {
		return section{}, err
	}
	var s section
	if i := skipSpace(b, 0); bytes.HasPrefix(b[i:], []byte("xref")) {
		s, err = f.readTable(at, at+int64(i)+4)
	} else {
		s, err = f.readXRefStream(at)
	}
	if err != nil {
		return s, err
	}
	return s, s.sortRanges()
}

// readTable reads the headers of a table's subsections and the trailer (7.5.4).
func (f *File) readTable(at, pos int64) (section, error) {
	s := section{at: at}
	for {
		b, err := f.in.read(pos, min(128, f.size-pos))
		if err != nil {
			return s, err
		}
		i := skipSpace(b, 0)
		if bytes.HasPrefix(b[i:], []byte("trailer")) {
			s.trailer, err = f.readTrailer(pos + int64(i) + 7)
			return s, err
		}
		first, j, ok := scanUint(b, i)
		if !ok {
			return s, damaged("bad subsection in a cross-reference table")
		}
		count, j, ok := scanUint(b, skipSpace(b, j))
		if !ok || first > maxObjectNum || count > maxObjectNum {
			return s, damaged("bad subsection in a cross-reference table")
		}
		pos += int64(skipSpace(b, j))
		if pos+int64(count)*tableEntry > f.size || len(s.ranges) >= maxSubsections {
			return s, damaged("cross-reference table is cut off")
		}
		s.ranges = append(s.ranges, subsection{first, count, pos})
		pos += int64(count) * tableEntry
	}
}

func (f *File) readTrailer(pos int64) (Dict, error) {
	for n := int64(1024); ; n *= 4 {
		b, err := f.in.read(pos, min(n, f.size-pos))
		if err != nil {
			return nil, err
		}
		v, _, err := Parse(b)
		switch {
		case err == nil:
			d, err := Value(bytes.Clone(v)).Dict()
			if err != nil {
				return nil, damaged("trailer is not a dictionary")
			}
			return d, nil
		case pos+n >= f.size || n > f.lim.MaxObject:
			return nil, damaged("trailer: %v", err)
		}
	}
}

// readXRefStream reads a cross-reference stream (7.5.8).
func (f *File) readXRefStream(at int64) (section, error) {
	s := section{at: at, isStream: true}
	b, err := f.in.read(at, min(64, f.size-at))
	if err != nil {
		return s, err
	}
	num, i, ok := scanUint(b, skipSpace(b, 0))
	if !ok {
		return s, damaged("no cross-reference section where startxref or Prev points")
	}
	gen, _, _ := scanUint(b, skipSpace(b, i))
	o, err := f.objectAt(Ref{num, gen}, at)
	if err != nil {
		return s, err
	}
	if s.trailer, err = o.Value.Dict(); err != nil || !s.trailer.Get("Type").IsName("XRef") || !o.IsStream() {
		return s, damaged("no cross-reference section where startxref or Prev points")
	}
	if s.data, err = f.StreamData(o); err != nil {
		return s, err
	}
	w, err := s.trailer.Get("W").Array()
	if err != nil || len(w) < 3 {
		return s, damaged("bad W in a cross-reference stream")
	}
	width := 0
	for k := range s.widths {
		n, ok := w[k].Int()
		if !ok || n < 0 || n > 8 {
			return s, damaged("bad W in a cross-reference stream")
		}
		s.widths[k] = int(n)
		width += int(n)
	}
	if width == 0 {
		return s, damaged("bad W in a cross-reference stream")
	}
	index := []Value{Value("0"), s.trailer.Get("Size")}
	if v := s.trailer.Get("Index"); v != nil {
		if index, err = v.Array(); err != nil || len(index)%2 != 0 {
			return s, damaged("bad Index in a cross-reference stream")
		}
	}
	pos := int64(0)
	for k := 0; k < len(index); k += 2 {
		first, ok1 := index[k].Int()
		count, ok2 := index[k+1].Int()
		if !ok1 || !ok2 || first < 0 || count < 0 || first > maxObjectNum || count > maxObjectNum {
			return s, damaged("bad Index in a cross-reference stream")
		}
		// A section may promise more than it holds; what lacks is free.
		count = min(count, (int64(len(s.data))-pos)/int64(width))
		s.ranges = append(s.ranges, subsection{int(first), int(count), pos})
		pos += count * int64(width)
	}
	return s, nil
}

// lookup finds the newest entry of an object.
func (f *File) lookup(num int) (entry, error) {
	for i := range f.sections {
		s := &f.sections[i]
		e, found, err := f.entryIn(s, num)
		if err != nil {
			return e, err
		}
		if s.hybrid != nil && (!found || e.kind == entryFree) {
			// Objects hidden from old readers are free in the table.
			h, ok, err := f.entryIn(s.hybrid, num)
			if err != nil || ok {
				return h, err
			}
		}
		if found {
			return e, nil
		}
	}
	return entry{}, nil
}

func (f *File) entryIn(s *section, num int) (entry, bool, error) {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].first > num }) - 1
	if i < 0 || num >= s.ranges[i].first+s.ranges[i].count {
		return entry{}, false, nil
	}
	r := s.ranges[i]
	if s.isStream {
		return s.streamEntry(r.pos, num-r.first), true, nil
	}
	b, err := f.in.read(r.pos+int64(num-r.first)*tableEntry, tableEntry)
	if err != nil {
		return entry{}, false, err
	}
	e, err := parseEntry(b)
	return e, true, err
}

// sortRanges orders subsections by their first object, so that entries can be
// looked up quickly, and refuses overlapping ones.
func (s *section) sortRanges() error {
	kept := s.ranges[:0]
	for _, r := range s.ranges {
		if r.count > 0 {
			kept = append(kept, r)
		}
	}
	s.ranges = kept
	slices.SortFunc(s.ranges, func(a, b subsection) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(s.ranges); i++ {
		if s.ranges[i-1].first+s.ranges[i-1].count > s.ranges[i].first {
			return damaged("subsections of a cross-reference section overlap")
		}
	}
	return nil
}

// parseEntry reads "nnnnnnnnnn ggggg n" and a two-byte end of line.
func parseEntry(b []byte) (entry, error) {
	offset, i, ok1 := scanUint(b, 0)
	gen, j, ok2 := scanUint(b, min(i+1, len(b)))
	if !ok1 || !ok2 || i != 10 || j != 16 || !isSpace(b[18]) || !isSpace(b[19]) {
		return entry{}, damaged("bad entry in a cross-reference table")
	}
	switch b[17] {
	case 'n':
		return entry{kind: entryInUse, offset: int64(offset), gen: gen}, nil
	case 'f':
		return entry{kind: entryFree}, nil
	}
	return entry{}, damaged("bad entry in a cross-reference table")
}

func (s *section) streamEntry(pos int64, i int) entry {
	width := s.widths[0] + s.widths[1] + s.widths[2]
	b := s.data[pos+int64(i*width):]
	var f [3]int64
	for k, w := range s.widths {
		for _, c := range b[:w] {
			f[k] = f[k]<<8 | int64(c)
		}
		b = b[w:]
	}
	if s.widths[0] == 0 {
		f[0] = 1 // the default type (Table 17)
	}
	switch f[0] {
	case 1:
		return entry{kind: entryInUse, offset: f[1], gen: int(f[2])}
	case 2:
		return entry{kind: entryCompressed, stream: int(f[1]), index: int(f[2])}
	}
	return entry{} // free, or a type that means null
}

// Objects calls visit for every object in use, the newest version of each.
func (f *File) Objects(visit func(Object) error) error {
	for i := range f.sections {
		for _, s := range []*section{&f.sections[i], f.sections[i].hybrid} {
			if s == nil {
				continue
			}
			for _, r := range s.ranges {
				for num := r.first; num < r.first+r.count; num++ {
					if err := f.visitIfNewest(s, num, visit); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (f *File) visitIfNewest(s *section, num int, visit func(Object) error) error {
	e, _, err := f.entryIn(s, num)
	if err != nil || e.kind == entryFree {
		return err
	}
	newest, err := f.lookup(num)
	if err != nil || newest != e {
		return err
	}
	o, err := f.Object(Ref{num, e.gen})
	if err != nil {
		return err
	}
	return visit(o)
}
