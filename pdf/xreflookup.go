package pdf

import (
	"cmp"
	"slices"
	"sort"
)

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
			// The table marks objects that are hidden from old programs as free.
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

// parseEntry parses "nnnnnnnnnn ggggg n". Only the header of the file can be at offset 0. Like all programs, parseEntry
// therefore treats an object in use at that offset as free.
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
