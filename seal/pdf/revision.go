package pdf

import "io"

// Revision opens the first size bytes of f as a file of its own: what it was
// before later increments.
func (f *File) Revision(size int64) (*File, error) {
	if size == f.size {
		return f, nil
	}
	return Open(io.NewSectionReader(f.in.r, 0, size), size, f.lim)
}

// Changed calls visit for each object number that increments after the first
// end bytes list, whether they replace, free or add an object.
func (f *File) Changed(end int64, visit func(num int) error) error {
	for i := range f.sections {
		if f.sections[i].at < end {
			continue
		}
		for _, s := range []*section{&f.sections[i], f.sections[i].hybrid} {
			if s == nil {
				continue
			}
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

// Has reports whether the file has an object of that number.
func (f *File) Has(num int) (bool, error) {
	e, err := f.lookup(num)
	return e.kind != entryFree, err
}

// FollowsOn reports whether f's chain of cross-reference sections leads to
// that of an earlier revision.
func (f *File) FollowsOn(earlier *File) bool {
	for i := range f.sections {
		if f.sections[i].at == earlier.start {
			return true
		}
	}
	return false
}
