package pdf

import (
	"bytes"
	"fmt"
)

// LinearizationProblem says why programs could take other pages from a linearized
// file (Annex F) as long as nothing is appended to it, or "". pages are those of the
// page tree, in order. As long as the length that the file's first object gives is that
// of the file, pdf.js and poppler begin at the section behind this object; pdf.js
// takes the first page from it, and poppler takes all pages from the hint tables.
func (f *File) LinearizationProblem(pages []Ref) (string, error) {
	const near = 1024 // bytes in which the section is looked for
	d, err := f.firstDict()
	if err != nil {
		return "begins with an object that cannot be read", nil //nolint:nilerr // it is said
	}
	if n, ok := d.Get("Linearized").Float(); ok && n <= 0 || d.Get("Linearized").IsNull() {
		return "", nil
	}
	length, ok := d.Get("L").Int()
	switch {
	case !ok || length > f.size: // what is appended could make this its length
		return "is shorter than its linearization dictionary says", nil
	case length < f.size:
		return "", nil // updated since: no program heeds the dictionary
	}
	b, err := f.in.read(0, min(f.size, near))
	if err != nil {
		return "", err
	}
	section := int64(bytes.Index(b, []byte("endobj"))) + int64(len("endobj"))
	if section < int64(len("endobj")) {
		return "has a linearization dictionary without an end", nil
	}
	if section, err = f.skipTableSpaceAt(section); err != nil {
		return "", err
	}
	start, err := f.skipTableSpaceAt(f.start)
	if err != nil {
		return "", err
	}
	if start != section {
		return "names another cross-reference section at its end than the one behind its linearization dictionary", nil
	}
	count, ok1 := d.Get("N").Int()
	first, ok2 := int64(0), true
	if p := d.Get("P"); p != nil {
		first, ok2 = p.Int()
	}
	object, ok3 := d.Get("O").Int()
	if !ok1 || !ok2 || !ok3 || count != int64(len(pages)) || first < 0 || first >= count || pages[first] != (Ref{int(object), 0}) {
		return "has other pages than its linearization dictionary says", nil
	}
	return f.hintProblem(d, pages, int(object))
}

// skipTableSpaceAt returns the position behind white space, of which there is little.
func (f *File) skipTableSpaceAt(at int64) (int64, error) {
	b, err := f.in.read(at, min(512, f.size-at))
	return at + int64(skipTableSpace(b, 0)), err
}

// firstDict returns the dictionary with which a file begins, nil if there is none.
func (f *File) firstDict() (Dict, error) {
	for n := min(blockSize, f.size); ; n = min(4*n, f.size) {
		b, err := f.in.read(0, n)
		if err != nil {
			return nil, err
		}
		i := SkipSpace(b, 0)
		for i < len(b) && IsRegular(b[i]) {
			i = SkipSpace(b, skipRegular(b, i))
		}
		v, _, err := Parse(b[i:])
		switch {
		case err == nil && !v.IsDict():
			return nil, nil
		case err == nil:
			v = bytes.Clone(v)
			d, err := v.Dict()
			if err != nil || d.Get("Linearized") == nil { // such as the document information
				return d, err
			}
			if key, err := v.RepeatedKey(); err != nil || key != "" {
				return nil, damaged("a key twice in the first object")
			}
			return d, nil
		case n == f.size || n > f.lim.MaxObject:
			return nil, err
		}
	}
}

// hintProblem compares the pages of the page offset hint table (F.4.1) with those
// of the page tree. A table that names anything but pages is not heeded.
func (f *File) hintProblem(d Dict, pages []Ref, first int) (string, error) {
	const header, wrong = 36, "has other pages in its hint tables than in its page tree"
	hints, err := d.Get("H").Array()
	if err != nil || len(hints) < 2 {
		return "", nil //nolint:nilerr // readers ignore it
	}
	if len(hints) > 2 {
		return "has hint tables in several parts", nil
	}
	at, ok := hints[0].Int()
	if !ok || at <= 0 || at >= f.size {
		return "", nil
	}
	b, err := f.in.read(at, min(64, f.size-at))
	if err != nil {
		return "", err
	}
	num, i, _ := scanUint(b, SkipSpace(b, 0))
	gen, _, _ := scanUint(b, SkipSpace(b, i))
	o, err := f.objectAt(Ref{num, gen}, at)
	if err != nil || !o.IsStream() {
		return "", nil //nolint:nilerr // readers ignore it
	}
	data, err := f.StreamData(o)
	if err != nil || len(data) < header {
		return "", nil //nolint:nilerr // readers ignore it
	}
	bits := bitReader{b: data}
	least := bits.next(32)
	bits.at = 64
	width := bits.next(16)
	bits.at = 8 * header
	if width > 32 || bits.at+len(pages)*int(width) > 8*len(data) {
		return "", nil
	}
	named := make([]Ref, len(pages))
	next := int64(1)
	for i := range named {
		n := least + bits.next(int(width))
		if i == 0 {
			named[i] = Ref{first, 0}
			continue
		}
		if next > maxObjectNum {
			return "", nil
		}
		named[i] = Ref{int(next), 0}
		next += n
	}
	same := true
	for i, ref := range named {
		same = same && ref == pages[i]
	}
	if same {
		return "", nil
	}
	for _, ref := range named {
		e, err := f.lookup(ref.Num)
		if err != nil {
			return "", err
		}
		o, err := f.Object(Ref{ref.Num, e.gen})
		if err != nil {
			return "", fmt.Errorf("hint tables: %w", err)
		}
		if page, err := o.Value.Dict(); err != nil || !page.Get("Type").IsName("Page") {
			return "", nil //nolint:nilerr // readers ignore the table
		}
	}
	return wrong, nil
}

// bitReader reads numbers of some bits, the highest bit first.
type bitReader struct {
	b  []byte
	at int // in bits
}

func (r *bitReader) next(n int) int64 {
	v := int64(0)
	for range n {
		v = v<<1 | int64(r.b[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return v
}
