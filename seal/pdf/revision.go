package pdf

// Changed calls visit for each object number that increments after the first
// end bytes list, whether they replace, free or add an object.
func (f *File) Changed(end int64, visit func(num int) error) error {
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

// Newer returns the newest version of an object, whatever its generation.
func (f *File) Newer(num int) (Object, error) {
	e, err := f.lookup(num)
	if err != nil {
		return Object{}, err
	}
	return f.Object(Ref{num, e.gen})
}

// Newest calls visit for each object that the newest cross-reference section
// lists as in use, with its position. Sections of a kind that Increment does not
// write are refused: hybrid ones, and objects in object streams.
func (f *File) Newest(visit func(ref Ref, at int64) error) error {
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

// Has reports whether the file has an object of that number.
func (f *File) Has(num int) (bool, error) {
	e, err := f.lookup(num)
	return e.kind != entryFree, err
}
