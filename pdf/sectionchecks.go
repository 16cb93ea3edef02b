package pdf

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// fileEnd matches a valid end of a file. Programs read a section at the end of a file differently from the same section
// followed by an update. In the first case, a violation causes them to scan the entire file for objects. In the second
// case, they ignore it. A section must therefore have a form that all programs accept.

var fileEnd = regexp.MustCompile(`^startxref[ \t\r\n]+[0-9]+[ \t\r\n]+%%EOF`)

// SectionProblem returns the reason why programs could interpret the cross-reference sections of the file differently
// once the file is extended, or "" if there is none.
func (f *File) SectionProblem() (string, error) {
	const near = 1024 // number of bytes that Poppler and MuPDF search
	n := min(f.size, near)
	tail, err := f.in.read(f.size-n, n)
	if err != nil {
		return "", err
	}
	if i := bytes.LastIndex(tail, []byte("startxref")); i < 0 || !fileEnd.Match(tail[i:]) {
		return "does not end with startxref, a number and %%EOF", nil
	}
	hidden := make(map[*section]bool) // sections already examined, because many tables can refer to the same one
	for i := range f.sections {
		s := &f.sections[i]
		check := f.tableProblem
		if s.isStream {
			check = f.xrefStreamProblem
		}
		problem, err := check(s)
		if err == nil && problem == "" && s.hybrid != nil {
			if problem = hybridProblem(s); problem == "" && !hidden[s.hybrid] {
				hidden[s.hybrid] = true
				problem, err = f.xrefStreamProblem(s.hybrid)
			}
		}
		if err != nil || problem != "" {
			return problem, err
		}
	}
	return "", nil
}

// isTableSpace reports whether c is white space that all programs accept in a table.
func isTableSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func skipTableSpace(b []byte, i int) int {
	for i < len(b) && isTableSpace(b[i]) {
		i++
	}
	return i
}

// tableProblem checks a table that was read by readTable.
func (f *File) tableProblem(s *section) (string, error) {
	wrong := func(what string, at int64) (string, error) {
		return fmt.Sprintf("has %s in a cross-reference table, at byte %d", what, at), nil
	}
	b, err := f.in.read(s.at, min(32, f.size-s.at))
	if err != nil {
		return "", err
	}
	i := skipTableSpace(b, 0)
	if !bytes.HasPrefix(b[i:], []byte("xref")) {
		return wrong("an unexpected token instead of xref", s.at)
	}
	pos := s.at + int64(i) + 4
	for isFirst := true; ; isFirst = false {
		if b, err = f.in.read(pos, min(128, f.size-pos)); err != nil {
			return "", err
		}
		i := skipTableSpace(b, 0)
		if i == 0 { // pdf.js reads to the end of the word
			return wrong("missing white space", pos)
		}
		if bytes.HasPrefix(b[i:], []byte("trailer")) {
			return "", nil
		}
		first, j, ok1 := scanUint(b, i)
		k := skipTableSpace(b, j)
		count, k, ok2 := scanUint(b, k)
		end := skipTableSpace(b, k)
		if !ok1 || !ok2 || end == k && count > 0 {
			return wrong("an invalid subsection", pos)
		}
		afterCount := pos + int64(k)
		r := subsection{first, count, pos + int64(end), tableEntry}
		pos = r.pos
		if count == 0 {
			pos = afterCount
			continue
		}
		if err := f.measureEntries(&r, isFirst); err != nil {
			return "", err
		}
		for n := range count {
			last := n == count-1
			width := r.width
			if last {
				width = entryContent
			}
			if b, err = f.in.read(pos, int64(width)); err != nil {
				return "", err
			}
			switch {
			case !tableEntryIsPlain(b):
				return wrong("an invalid entry", pos)
			case r.first+n == 0 && b[17] == 'n':
				return wrong("object 0 in use", pos)
			case n == 0 && r.first == 1 && b[17] == 'f': // pdf.js interprets it as object 0
				return wrong("a subsection that begins with a free object 1", pos)
			}
			pos += int64(width)
		}
	}
}

// tableEntryIsPlain reports whether an entry has the form "nnnnnnnnnn ggggg n", or f instead of n, followed by white
// space.
func tableEntryIsPlain(b []byte) bool {
	for i, c := range b {
		var ok bool
		switch {
		case i == 10 || i == 16:
			ok = c == ' '
		case i < 16:
			ok = c >= '0' && c <= '9'
		case i == 17:
			ok = c == 'n' || c == 'f'
		default:
			ok = isTableSpace(c)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (f *File) xrefStreamProblem(s *section) (string, error) {
	wrong := func(what string) (string, error) {
		return fmt.Sprintf("has %s in the cross-reference stream at byte %d", what, s.at), nil
	}
	b, err := f.in.read(s.at, min(64, f.size-s.at))
	if err != nil {
		return "", err
	}
	if i := skipTableSpace(b, 0); i == len(b) || b[i] < '0' || b[i] > '9' {
		return wrong("an unexpected token instead of an object number")
	}
	if _, ok := s.trailer.Get("Length").Int(); !ok {
		return wrong("no direct Length")
	}
	num, i, _ := scanUint(b, skipTableSpace(b, 0))
	gen, _, _ := scanUint(b, SkipSpace(b, i))
	o, err := f.objectAt(Ref{num, gen}, s.at)
	if err != nil {
		return "", err
	}
	if ok, err := f.HasCorrectLength(o); err != nil || !ok {
		what, _ := wrong("an incorrect Length")
		return what, err
	}
	width := int64(s.widths[0] + s.widths[1] + s.widths[2])
	promised := int64(0)
	if index, err := s.trailer.Get("Index").Array(); err == nil {
		for k := 1; k < len(index); k += 2 {
			n, _ := index[k].Int()
			promised += n
		}
	} else if n, ok := s.trailer.Get("Size").Int(); ok {
		promised = n
	}
	if promised > int64(len(s.data))/width {
		return wrong("fewer entries than it states")
	}
	var atZero []int // objects in use at offset 0, which all programs except Poppler treat as free
	for _, r := range s.ranges {
		for n := range r.count {
			kind := uint64(1) // the default (Table 17)
			if w := s.widths[0]; w > 0 {
				kind = 0
				for _, c := range s.data[r.pos+int64(n)*width:][:w] {
					kind = kind<<8 | uint64(c)
				}
			}
			switch {
			case kind > 2:
				return wrong("an entry of an unknown type")
			case kind > 0 && r.first+n == 0:
				return wrong("object 0 in use")
			case kind == 1 && allZero(s.data[r.pos+int64(n)*width+int64(s.widths[0]):][:s.widths[1]]):
				atZero = append(atZero, r.first+n)
			}
		}
	}
	if len(atZero) > 0 {
		first, err := f.firstNumber()
		if err != nil {
			return "", err
		}
		if first < 0 || slices.Contains(atZero, first) {
			return wrong("the first object of the file at byte 0")
		}
	}
	return "", nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// firstNumber returns the number of the first object in the file, or -1 if that object is far from the beginning. If
// the object is listed at byte 0, Poppler skips the file header, which is a comment, and finds the object.
func (f *File) firstNumber() (int, error) {
	const near = 1 << 16
	b, err := f.in.read(0, min(near, f.size))
	if err != nil {
		return 0, err
	}
	num, _, ok := scanUint(b, SkipSpace(b, 0))
	if !ok {
		return -1, nil
	}
	return num, nil
}

// hybridProblem checks the stream to which the XRefStm entry of a table refers. Some programs follow a Prev entry in
// that stream.
func hybridProblem(s *section) string {
	at := s.hybrid.at
	if _, ok := s.trailer.Get("XRefStm").Int(); !ok || !s.hybrid.isStream {
		return fmt.Sprintf("has no cross-reference stream where XRefStm points, at byte %d", at)
	}
	if v := s.hybrid.trailer.Get("Prev"); !v.IsNull() {
		named, ok1 := v.Int()
		prev, ok2 := s.trailer.Get("Prev").Int()
		if !ok1 || !ok2 || named != prev { // the chain could skip sections
			return fmt.Sprintf("has a cross-reference stream, at byte %d, that refers to a different section than its table", at)
		}
	}
	return ""
}
