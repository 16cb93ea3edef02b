package pdf

import (
	"cmp"
	"slices"
)

// bitset is a set of object numbers with one bit per number.
type bitset []uint64

// add adds a number and reports whether it was absent before.
func (s *bitset) add(num int) bool {
	word, bit := num/64, uint64(1)<<(num%64)
	if len(*s) <= word {
		*s = append(*s, make([]uint64, word+1-len(*s))...)
	}
	if (*s)[word]&bit != 0 {
		return false
	}
	(*s)[word] |= bit
	return true
}

func (s bitset) has(num int) bool {
	return num/64 < len(s) && s[num/64]&(1<<(num%64)) != 0
}

// entries calls visit once for the newest entry of every object in use. It reads each section only once.
func (f *File) entries(visit func(num int, e entry) error) error {
	var seen bitset
	first := func(num int, e entry) error {
		if !seen.add(num) || e.kind == entryFree {
			return nil
		}
		return visit(num, e)
	}
	for i := range f.sections {
		s := &f.sections[i]
		err := f.sectionEntries(s, func(num int, e entry) error {
			if e.kind == entryFree && s.hybrid != nil { // the hybrid section may list the object
				return nil
			}
			return first(num, e)
		})
		if err != nil {
			return err
		}
		if s.hybrid == nil {
			continue
		}
		if err := f.sectionEntries(s.hybrid, first); err != nil {
			return err
		}
		for _, r := range s.ranges {
			for num := r.first; num < r.first+r.count; num++ {
				seen.add(num)
			}
		}
	}
	return nil
}

func (f *File) sectionEntries(s *section, visit func(num int, e entry) error) error {
	for _, r := range s.ranges {
		for num := r.first; num < r.first+r.count; num++ {
			e, err := f.entryAt(s, r, num)
			if err != nil {
				return err
			}
			if err := visit(num, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// compressed is an object in an object stream.
type compressed struct {
	num int
	entry
}

// Objects calls visit for the newest version of every object in use. Objects in the same object stream are visited
// consecutively, so that the stream is decoded only once.
func (f *File) Objects(visit func(Object) error) error {
	var later []compressed
	err := f.entries(func(num int, e entry) error {
		if e.kind == entryCompressed {
			later = append(later, compressed{num, e})
			return nil
		}
		o, err := f.objectAt(Ref{num, e.gen}, e.offset)
		if err != nil {
			return err
		}
		return visit(o)
	})
	if err != nil {
		return err
	}
	return f.compressedObjects(later, visit)
}

// compressedObjects sorts objects in object streams and calls visit for them.
func (f *File) compressedObjects(all []compressed, visit func(Object) error) error {
	slices.SortFunc(all, func(a, b compressed) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.index, b.index))
	})
	for _, c := range all {
		v, err := f.compressed(c.num, c.entry)
		if err != nil {
			return err
		}
		if err := visit(Object{Ref: Ref{Num: c.num}, Value: v}); err != nil {
			return err
		}
	}
	return nil
}

// VisitChanged calls visit with the number of each object that is replaced, freed or added by the increments after the
// given offset.
func (f *File) VisitChanged(end int64, visit func(num int) error) error {
	for i := range f.sections {
		if f.sections[i].at < end {
			continue
		}
		for _, s := range f.sections[i].parts() {
			for _, r := range s.ranges {
				for num := r.first; num < r.first+r.count; num++ {
					if err := visit(num); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// NewestVersion returns the newest version of an object, regardless of its generation.
func (f *File) NewestVersion(num int) (Object, error) {
	e, err := f.lookup(num)
	if err != nil {
		return Object{}, err
	}
	return f.Object(Ref{num, e.gen})
}

// VisitNewestSection calls visit for each object that the newest cross-reference section lists as in use, and passes
// its offset. It rejects sections that Increment does not write, which are hybrid sections and sections with objects in
// object streams.
func (f *File) VisitNewestSection(visit func(ref Ref, at int64) error) error {
	s := &f.sections[0]
	if s.hybrid != nil {
		return damaged("the newest cross-reference section is hybrid")
	}
	return f.sectionEntries(s, func(num int, e entry) error {
		switch e.kind {
		case entryFree:
			if num != 0 {
				return damaged("the newest cross-reference section frees object %d", num)
			}
		case entryCompressed:
			return damaged("the newest cross-reference section lists a compressed object")
		case entryInUse:
			return visit(Ref{num, e.gen}, e.offset)
		}
		return nil
	})
}

// Has reports whether the file has an object with the given number.
func (f *File) Has(num int) (bool, error) {
	e, err := f.lookup(num)
	return e.kind != entryFree, err
}
