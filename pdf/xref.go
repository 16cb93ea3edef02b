package pdf

import (
	"bytes"
	"fmt"
	"slices"
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
