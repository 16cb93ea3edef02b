package pdf

import (
	"bytes"
	"errors"
	"slices"
)

// LinearizationProblem returns the reason why programs could find pages in a linearized file (Annex F) that differ from
// those in its page tree, or "" if there is none. The argument pages lists the pages of the page tree, in order. As
// long as the length of the file equals the length in its first object, pdf.js and Poppler start with the section after
// this object. pdf.js reads the first page from that section, and Poppler reads all pages from the hint tables.
func (f *File) LinearizationProblem(pages []Ref) (string, error) {
	const near = 1024 // number of bytes in which to search for the section
	d, err := f.firstDict()
	if err != nil {
		return "begins with an object that cannot be parsed", nil //nolint:nilerr // reported as a problem
	}
	if n, ok := d.Get("Linearized").Float(); ok && n <= 0 || d.Get("Linearized").IsNull() {
		return "", nil
	}
	length, ok := d.Get("L").Int()
	switch {
	case !ok || length > f.size: // appending bytes could make the lengths equal
		return "is shorter than its linearization dictionary states", nil
	case length < f.size:
		return "", nil // updated since then, so programs ignore the dictionary
	}
	b, err := f.in.read(0, min(f.size, near))
	if err != nil {
		return "", err
	}
	section := int64(bytes.Index(b, []byte("endobj"))) + int64(len("endobj"))
	if section < int64(len("endobj")) {
		return "has an unterminated linearization dictionary", nil
	}
	if section, err = f.skipTableSpaceAt(section); err != nil {
		return "", err
	}
	start, err := f.skipTableSpaceAt(f.start)
	if err != nil {
		return "", err
	}
	if start != section {
		return "refers at its end to a cross-reference section other than the one after its linearization dictionary", nil
	}
	count, ok1 := d.Get("N").Int()
	first, ok2 := int64(0), true
	if p := d.Get("P"); p != nil {
		first, ok2 = p.Int()
	}
	object, ok3 := d.Get("O").Int()
	if !ok1 || !ok2 || !ok3 || count != int64(len(pages)) || first < 0 || first >= count || pages[first] != (Ref{int(object), 0}) {
		return "has pages that do not match its linearization dictionary", nil
	}
	return f.hintProblem(d, pages, int(first))
}

// skipTableSpaceAt returns the offset after a short run of white space.
func (f *File) skipTableSpaceAt(at int64) (int64, error) {
	b, err := f.in.read(at, min(512, f.size-at))
	return at + int64(skipTableSpace(b, 0)), err
}

// firstDict returns the dictionary in the first object of a file, or nil if there is none.
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
			if err != nil || d.Get("Linearized") == nil { // for example the document information dictionary
				return d, err
			}
			if key, err := v.RepeatedKey(); err != nil || key != "" {
				return nil, damaged("duplicate key in the first object")
			}
			return d, nil
		case n == f.size || n > f.lim.MaxObject:
			return nil, err
		}
	}
}

// hintProblem compares the pages in the page offset hint table (F.4.1) with the page tree. It ignores a table that
// refers to objects other than pages. The argument first is the index of the page that is displayed first. The
// dictionary contains the object number of that page.
func (f *File) hintProblem(d Dict, pages []Ref, first int) (string, error) {
	hints, err := d.Get("H").Array()
	if err != nil || len(hints) < 2 || len(pages) == 1 {
		return "", nil //nolint:nilerr // no table, or only one page
	}
	data, err := f.hintData(hints)
	var counts []uint32
	if err == nil {
		counts, err = objectCounts(data, len(pages))
	}
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrLimit) || errors.Is(err, ErrFilter) {
		return "has hint tables that cannot be parsed", nil // other programs might read them
	}
	if err != nil {
		return "", err
	}
	hinted := hintedPages(counts, pages[first].Num, first)
	if slices.EqualFunc(hinted, pages, func(num int, page Ref) bool { return num == page.Num }) {
		return "", nil
	}
	for _, num := range hinted {
		if is, err := f.isPage(num); err != nil || !is {
			return "", err
		}
	}
	return "has hint tables that do not match its page tree", nil
}

// hintData returns the data of the hint stream (F.4). Poppler reads the stream with a more lenient parser that does not
// read beyond the length in H. Data that the two parsers could read differently causes an error. If H specifies two
// parts, each part is a stream. The first stream must be complete, because it begins with the page offset table.
func (f *File) hintData(hints []Value) ([]byte, error) {
	unclear := damaged("the hint stream is ambiguous")
	at, ok1 := hints[0].Int()
	length, ok2 := hints[1].Int()
	if !ok1 || !ok2 || at <= 0 || at >= f.size || length <= 0 || length > f.size-at {
		return nil, unclear
	}
	b, err := f.in.read(at, min(64, length))
	if err != nil {
		return nil, err
	}
	num, i, _ := scanUint(b, SkipSpace(b, 0))
	gen, _, _ := scanUint(b, SkipSpace(b, i))
	o, err := f.objectAt(Ref{num, gen}, at)
	if err != nil {
		return nil, err
	}
	if !o.IsStream() {
		return nil, unclear
	}
	size, err := f.StreamLength(o)
	if err != nil {
		return nil, err
	}
	if key, err := o.Value.RepeatedKey(); err != nil || key != "" || o.Data+size > at+length {
		return nil, unclear
	}
	if b, err = f.in.read(o.Data-1, 1); err != nil {
		return nil, err
	}
	plain, err := f.isPlainFlate(o)
	if err != nil {
		return nil, err
	}
	if !plain || b[0] != '\n' && b[0] != '\r' { // Poppler skips to the end of the line
		return nil, unclear
	}
	return f.StreamData(o)
}

// isPlainFlate reports whether a stream has no filter or only Flate. Programs differ in how they handle damaged data of
// other filters, parameters, and abbreviations.
func (f *File) isPlainFlate(o Object) (bool, error) {
	d, err := o.Value.Dict()
	if err != nil {
		return false, err
	}
	for _, key := range []string{"DecodeParms", "F", "DP"} {
		if !d.Get(key).IsNull() {
			return false, nil
		}
	}
	names, _, err := f.filters(o)
	return len(names) == 0 || len(names) == 1 && (names[0] == "FlateDecode" || names[0] == "Fl"), err
}

// objectCounts returns the number of objects of each page from a page offset hint table. Each number is the sum of the
// minimum number and a difference. The sums are 32-bit numbers, as in other programs.
func objectCounts(data []byte, pages int) ([]uint32, error) {
	const header = 36
	if len(data) < header {
		return nil, damaged("the page offset hint table is too short")
	}
	bits := bitReader{b: data}
	least := bits.next(32)
	bits.at = 64
	width := int(bits.next(16))
	bits.at = 8 * header
	if width > 32 || bits.at+pages*width > 8*len(data) {
		return nil, damaged("the page offset hint table is too short")
	}
	counts := make([]uint32, pages)
	for i := range counts {
		counts[i] = least + bits.next(width)
	}
	return counts, nil
}

// hintedPages returns the object numbers of the pages, in page order. The first count belongs to the page with the
// given index and object number. The objects of the other pages are numbered from 1, page by page.
func hintedPages(counts []uint32, object, first int) []int {
	nums := make([]int, 0, len(counts))
	next := uint32(1)
	for _, n := range counts[1:] {
		nums = append(nums, int(next))
		next += n
	}
	return slices.Insert(nums, first, object)
}

// isPage reports whether the newest object with the given number is a page.
func (f *File) isPage(num int) (bool, error) {
	o, err := f.NewestVersion(num)
	if err != nil {
		return false, err
	}
	d, err := o.Value.Dict()
	return err == nil && d.Get("Type").IsName("Page"), nil
}

// bitReader reads numbers with a given number of bits, most significant bit first.
type bitReader struct {
	b  []byte
	at int // position in bits
}

func (r *bitReader) next(n int) uint32 {
	v := uint32(0)
	for range n {
		v = v<<1 | uint32(r.b[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return v
}
