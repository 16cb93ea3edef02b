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

// entry is the location of an object, which is either an offset, or an object stream and an index in it.
type entry struct {
	kind          entryKind
	offset        int64
	gen           int
	stream, index int
}

// section is one cross-reference section. Entries are decoded only when they are looked up, so that memory use does not
// grow with the number of objects.
type section struct {
	at       int64
	trailer  Dict
	raw      Value // trailer as written
	isStream bool
	hybrid   *section // section referred to by XRefStm (7.5.8.4)
	ranges   []subsection
	widths   [3]int // field widths of a cross-reference stream
	data     []byte // decoded data of a cross-reference stream
}

// parts returns the section and its hybrid section, if any.
func (s *section) parts() []*section {
	if s.hybrid == nil {
		return []*section{s}
	}
	return []*section{s, s.hybrid}
}

// subsection covers the objects first … first+count-1. Its entries begin at pos, which is an offset in the file for a
// table, or in the section's data for a stream.
type subsection struct {
	first, count int
	pos          int64
	width        int // distance in bytes between entries of a table
}

const (
	maxSections    = 512
	maxSubsections = 1 << 16
	tableEntry     = 20 // distance in bytes between entries (7.5.4)
	entryContent   = 18 // size of an entry in bytes without its end of line
	maxObjectNum   = 8_388_607
)

// readSections reads the chain of cross-reference sections, starting at the end of the file.
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
	at, _, ok := scanUint(tail, SkipSpace(tail, i+9))
	if !ok {
		return damaged("no position after startxref")
	}
	f.start = int64(at)
	chain := sectionReader{f: f, read: map[int64]*section{}}
	for next := f.start; ; {
		if len(f.sections) >= maxSections {
			return fmt.Errorf("%w: more than %d cross-reference sections", ErrLimit, maxSections)
		}
		section, again, err := chain.section(next)
		if err != nil {
			return err
		}
		if again {
			return damaged("cross-reference sections form a cycle at byte %d", next)
		}
		s := *section
		if x := s.trailer.Get("XRefStm"); x != nil && !s.isStream {
			pos, err := f.Int(x)
			if err != nil {
				return err
			}
			// An update can repeat the XRefStm entry of the previous section. In that case, the hybrid section is not
			// read again.
			if s.hybrid, _, err = chain.section(pos); err != nil {
				return err
			}
		}
		f.sections = append(f.sections, s)
		prev := s.trailer.Get("Prev")
		if prev == nil {
			break
		}
		if next, ok = prev.Int(); !ok {
			return damaged("invalid Prev in a trailer")
		}
	}
	f.trailer = f.sections[0].trailer
	if n, ok := f.trailer.Get("Size").Int(); !ok || n < 1 || n > maxObjectNum+1 {
		return damaged("invalid Size in the trailer")
	}
	if _, ok := f.trailer.Get("Root").Ref(); !ok {
		return damaged("no Root in the trailer")
	}
	return nil
}

// sectionReader reads each cross-reference section only once, regardless of how often it is referenced, and limits the
// total cost.
type sectionReader struct {
	f                    *File
	read                 map[int64]*section // by offset of the first token
	subsections, entries int
	data                 int64
}

// section returns the section at an offset, and whether it had already been read.
func (c *sectionReader) section(at int64) (*section, bool, error) {
	if at < 0 || at >= c.f.size {
		return nil, false, damaged("cross-reference section outside the file, at byte %d", at)
	}
	b, err := c.f.in.read(at, min(32, c.f.size-at))
	if err != nil {
		return nil, false, err
	}
	first := at + int64(SkipSpace(b, 0)) // leading white space does not make it a different section
	if s := c.read[first]; s != nil {
		return s, true, nil
	}
	s, err := c.f.readSection(at)
	if err != nil {
		return nil, false, err
	}
	c.read[first] = &s
	c.subsections += len(s.ranges)
	c.data += int64(len(s.data))
	for _, r := range s.ranges {
		c.entries += r.count
	}
	switch {
	case c.subsections > maxSubsections || c.data > c.f.lim.MaxStream:
		return nil, false, fmt.Errorf("%w: too many cross-reference entries", ErrLimit)
	case c.entries > 2*c.f.lim.MaxObjects:
		return nil, false, fmt.Errorf("%w: more than %d objects", ErrLimit, c.f.lim.MaxObjects)
	}
	return &s, false, nil
}

func (f *File) readSection(at int64) (section, error) {
	b, err := f.in.read(at, min(32, f.size-at))
	if err != nil {
		return section{}, err
	}
	var s section
	if i := SkipSpace(b, 0); bytes.HasPrefix(b[i:], []byte("xref")) {
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
		i := SkipSpace(b, 0)
		if bytes.HasPrefix(b[i:], []byte("trailer")) {
			s.raw, err = f.readTrailer(pos + int64(i) + 7)
			if err != nil {
				return s, err
			}
			if s.trailer, err = s.raw.Dict(); err != nil {
				return s, damaged("trailer at byte %d is not a dictionary", pos)
			}
			return s, nil
		}
		first, j, ok1 := scanUint(b, i)
		count, j, ok2 := scanUint(b, SkipSpace(b, j))
		if !ok1 || !ok2 || first > maxObjectNum || count > maxObjectNum {
			return s, damaged("invalid subsection in a cross-reference table, at byte %d", pos)
		}
		pos += int64(SkipSpace(b, j))
		if len(s.ranges) >= maxSubsections {
			return s, fmt.Errorf("%w: too many cross-reference entries", ErrLimit)
		}
		if len(s.ranges) == 1 { // allocate space for the subsections that fit into the rest of the file
			s.ranges = slices.Grow(s.ranges, int(min((f.size-pos)/(tableEntry+4), 1<<13)))
		}
		r := subsection{first, count, pos, tableEntry}
		if count > 0 {
			if err := f.measureEntries(&r, len(s.ranges) == 0); err != nil {
				return s, err
			}
			pos += int64(count-1)*int64(r.width) + entryContent
		}
		s.ranges = append(s.ranges, r)
	}
}

// measureEntries determines the size of entries at the beginning of a table's subsection. All programs tolerate entries
// of 19 or 21 bytes. They also tolerate a table that begins with the head of the free list but states that it begins
// with object 1.
func (f *File) measureEntries(r *subsection, isFirst bool) error {
	var b []byte
	if r.count > 1 || isFirst {
		var err error
		if b, err = f.in.read(r.pos, min(entryContent+8, f.size-r.pos)); err != nil {
			return err
		}
	}
	if len(b) > entryContent && r.count > 1 {
		n := entryContent
		for n < len(b) && IsSpace(b[n]) {
			n++
		}
		if n < tableEntry-1 || n > tableEntry+1 {
			return damaged("invalid entry in a cross-reference table, at byte %d", r.pos)
		}
		r.width = n
	}
	if r.pos+int64(r.count-1)*int64(r.width)+entryContent > f.size {
		return damaged("truncated cross-reference table, at byte %d", r.pos)
	}
	if isFirst && r.first == 1 && bytes.HasPrefix(b, []byte("0000000000 65535 f")) {
		r.first = 0
	}
	return nil
}

func (f *File) readTrailer(pos int64) (Value, error) {
	for n := int64(1024); ; n *= 4 {
		b, err := f.in.read(pos, min(n, f.size-pos))
		if err != nil {
			return nil, err
		}
		v, _, err := Parse(b)
		switch {
		case err == nil:
			return bytes.Clone(v), nil
		case pos+n >= f.size || n > f.lim.MaxObject:
			return nil, damaged("trailer at byte %d: %v", pos, err)
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
	num, i, ok := scanUint(b, SkipSpace(b, 0))
	if !ok {
		return s, damaged("no cross-reference section where startxref or Prev points, at byte %d", at)
	}
	gen, _, _ := scanUint(b, SkipSpace(b, i))
	o, err := f.objectAt(Ref{num, gen}, at)
	if err != nil {
		return s, err
	}
	s.raw = o.Value
	if s.trailer, err = s.raw.Dict(); err != nil || !s.trailer.Get("Type").IsName("XRef") || !o.IsStream() {
		return s, damaged("no cross-reference section where startxref or Prev points, at byte %d", at)
	}
	if s.data, err = f.StreamData(o); err != nil {
		return s, err
	}
	w, err := s.trailer.Get("W").Array()
	if err != nil || len(w) < 3 {
		return s, damaged("invalid W in the cross-reference stream at byte %d", at)
	}
	width := 0
	for k := range s.widths {
		n, ok := w[k].Int()
		if !ok || n < 0 || n > 8 {
			return s, damaged("invalid W in the cross-reference stream at byte %d", at)
		}
		s.widths[k] = int(n)
		width += int(n)
	}
	if width == 0 {
		return s, damaged("invalid W in the cross-reference stream at byte %d", at)
	}
	index := []Value{Value("0"), s.trailer.Get("Size")}
	if v := s.trailer.Get("Index"); v != nil {
		if index, err = v.Array(); err != nil || len(index)%2 != 0 {
			return s, damaged("invalid Index in the cross-reference stream at byte %d", at)
		}
	}
	pos := int64(0)
	for k := 0; k < len(index); k += 2 {
		first, ok1 := index[k].Int()
		count, ok2 := index[k+1].Int()
		if !ok1 || !ok2 || first < 0 || count < 0 || first > maxObjectNum || count > maxObjectNum {
			return s, damaged("invalid Index in the cross-reference stream at byte %d", at)
		}
		// A section can declare more entries than it contains. The missing entries are treated as free.
		count = min(count, (int64(len(s.data))-pos)/int64(width))
		s.ranges = append(s.ranges, subsection{int(first), int(count), pos, width})
		pos += count * int64(width)
	}
	return s, nil
}

// lookup finds the newest entry of an object.
func (f *File) lookup(num int) (entry, error) {
	first := 0
	if len(f.sections) > linearSearchLimit {
		if first = f.sectionOf(num); first < 0 {
			return entry{}, nil
		}
	}
	for i := first; i < len(f.sections); i++ {
		s := &f.sections[i]
		e, found, err := f.entryIn(s, num)
		if err != nil {
			return e, err
		}
		if s.hybrid != nil && (!found || e.kind == entryFree) {
			// Objects hidden from old programs are free in the table.
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

// linearSearchLimit is the number of sections up to which sections are searched sequentially.
const linearSearchLimit = 4

// sectionOf returns the index of the newest section that lists an object, or -1 if none does.
func (f *File) sectionOf(num int) int {
	if f.newest == nil {
		for i := range f.sections {
			for _, s := range f.sections[i].parts() {
				if len(s.ranges) == 0 {
					continue
				}
				last := s.ranges[len(s.ranges)-1] // subsections are sorted
				if n := last.first + last.count; n > len(f.newest) {
					f.newest = append(f.newest, make([]uint16, n-len(f.newest))...)
				}
				for _, r := range s.ranges {
					for num := r.first; num < r.first+r.count; num++ {
						if f.newest[num] == 0 {
							f.newest[num] = uint16(i) + 1
						}
					}
				}
			}
		}
	}
	if num < 0 || num >= len(f.newest) {
		return -1
	}
	return int(f.newest[num]) - 1
}

func (f *File) entryIn(s *section, num int) (entry, bool, error) {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].first > num }) - 1
	if i < 0 || num >= s.ranges[i].first+s.ranges[i].count {
		return entry{}, false, nil
	}
	e, err := f.entryAt(s, s.ranges[i], num)
	return e, true, err
}

// entryAt reads the entry of an object in a subsection.
func (f *File) entryAt(s *section, r subsection, num int) (entry, error) {
	if s.isStream {
		e, ok := s.streamEntry(r.pos, num-r.first)
		if !ok {
			return entry{}, damaged("invalid entry for object %d in the cross-reference stream at byte %d", num, s.at)
		}
		return e, nil
	}
	at := r.pos + int64(num-r.first)*int64(r.width)
	b, err := f.in.read(at, entryContent)
	if err != nil {
		return entry{}, err
	}
	e, ok := parseEntry(b)
	if !ok {
		return entry{}, damaged("invalid entry in a cross-reference table, at byte %d", at)
	}
	return e, nil
}

// sortRanges sorts subsections by their first object, so that entries can be looked up quickly, and rejects overlapping
// subsections.
func (s *section) sortRanges() error {
	s.ranges = slices.DeleteFunc(s.ranges, func(r subsection) bool { return r.count == 0 })
	slices.SortFunc(s.ranges, func(a, b subsection) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(s.ranges); i++ {
		if s.ranges[i-1].first+s.ranges[i-1].count > s.ranges[i].first {
			return damaged("subsections of a cross-reference section overlap")
		}
	}
	return nil
}

// parseEntry parses "nnnnnnnnnn ggggg n". Only the header can be at offset 0, so it treats an object in use at that
// offset as free, as all programs do.
func parseEntry(b []byte) (entry, bool) {
	offset, i, ok1 := scanUint(b, 0)
	gen, j, ok2 := scanUint(b, min(i+1, len(b)))
	if !ok1 || !ok2 || i != 10 || j != 16 {
		return entry{}, false
	}
	switch {
	case b[17] == 'n' && gen > maxEntryGen:
		return entry{}, false
	case b[17] == 'n' && offset > 0:
		return entry{kind: entryInUse, offset: int64(offset), gen: gen}, true
	case b[17] == 'n', b[17] == 'f':
		return entry{kind: entryFree}, true
	}
	return entry{}, false
}

// Maximum values in an entry. Some programs truncate larger numbers to 32 bits, and then find an object where other
// programs find none.
const (
	maxEntryOffset = 1<<31 - 1
	maxEntryGen    = 65_535
)

// streamEntry reads an entry of a cross-reference stream (Table 18).
func (s *section) streamEntry(pos int64, i int) (entry, bool) {
	width := s.widths[0] + s.widths[1] + s.widths[2]
	b := s.data[pos+int64(i*width):]
	var f [3]uint64
	for k, w := range s.widths {
		for _, c := range b[:w] {
			f[k] = f[k]<<8 | uint64(c)
		}
		b = b[w:]
	}
	if s.widths[0] == 0 {
		f[0] = 1 // default type (Table 17)
	}
	switch {
	case f[0] == 1 && (f[1] > maxEntryOffset || f[2] > maxEntryGen), f[0] == 2 && (f[1] > maxObjectNum || f[2] > maxObjectNum):
		return entry{}, false
	case f[0] == 1 && f[1] > 0:
		return entry{kind: entryInUse, offset: int64(f[1]), gen: int(f[2])}, true //nolint:gosec // both are small
	case f[0] == 2:
		return entry{kind: entryCompressed, stream: int(f[1]), index: int(f[2])}, true //nolint:gosec // both are small
	}
	return entry{}, true // free, or a type that means null
}
