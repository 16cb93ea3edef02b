package pdf

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
)

// Increment builds an incremental update (7.5.6), which is appended to a file. If created by NewDocument, it builds a
// complete document instead.
type Increment struct {
	base     int64 // offset of buf in the file
	buf      []byte
	next     int // next unused object number
	objects  []written
	prev     int64 // startxref of the file; -1 if none
	stream   bool  // whether to write a cross-reference stream
	original Dict  // trailer of the original file
}

type written struct {
	ref Ref
	at  int64
}

// NewIncrement starts an update of f. The update ends with a cross-reference section of the same type as in f.
func NewIncrement(f *File) (*Increment, error) {
	size, ok := f.trailer.Get("Size").Int()
	if !ok {
		return nil, damaged("invalid Size in the trailer")
	}
	w := &Increment{base: f.size, prev: f.start, stream: f.UsesXRefStream(), original: f.trailer}
	w.next = int(size)
	// A Size that is too small must not cause an object number to be reused.
	for i := range f.sections {
		for _, s := range f.sections[i].parts() {
			for _, r := range s.ranges {
				w.next = max(w.next, r.first+r.count)
			}
		}
	}
	if w.next > lastNewObject {
		return nil, fmt.Errorf("%w: no object numbers are left", ErrLimit)
	}
	last, err := f.in.read(f.size-1, 1)
	if err != nil {
		return nil, err
	}
	if last[0] != '\n' && last[0] != '\r' {
		w.buf = append(w.buf, '\n')
	}
	return w, nil
}

// DefineUndefined defines missing objects that the file refers to as null, and ensures that new objects get numbers
// above every number mentioned in the file. Otherwise a reference in the file could resolve to an object that is
// appended later. It must be called before objects are added.
func (w *Increment) DefineUndefined(m ReferenceSummary) error {
	if w.next = max(w.next, m.Highest+1); w.next > lastNewObject {
		return fmt.Errorf("%w: no object numbers are left", ErrLimit)
	}
	for _, ref := range m.Undefined {
		w.Put(ref, Value("null"))
	}
	return nil
}

// lastNewObject is the highest number that the first new object can have. It leaves enough numbers for further objects.
const lastNewObject = maxObjectNum - 1_000_000

// NewDocument starts a new document.
func NewDocument() *Increment {
	return &Increment{next: 1, prev: -1, buf: []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")}
}

// Reserve allocates a new object number.
func (w *Increment) Reserve() Ref {
	w.next++
	return Ref{Num: w.next - 1}
}

// Bytes returns the bytes written so far.
func (w *Increment) Bytes() []byte { return w.buf }

// Offset returns the offset of the next byte in the file.
func (w *Increment) Offset() int64 { return w.base + int64(len(w.buf)) }

// Begin writes the header of an object. The caller appends the body with Append or AppendString and then calls End.
func (w *Increment) Begin(ref Ref) {
	w.objects = append(w.objects, written{ref, w.Offset()})
	w.buf = strconv.AppendInt(w.buf, int64(ref.Num), 10)
	w.buf = append(w.buf, ' ')
	w.buf = strconv.AppendInt(w.buf, int64(ref.Gen), 10)
	w.buf = append(w.buf, " obj\n"...)
}

// Append appends bytes to the current object.
func (w *Increment) Append(b []byte) { w.buf = append(w.buf, b...) }

// AppendString appends a string to the current object.
func (w *Increment) AppendString(s string) { w.buf = append(w.buf, s...) }

// End ends the current object.
func (w *Increment) End() { w.buf = append(w.buf, "\nendobj\n"...) }

// Skip reserves n bytes that the caller writes to the file at this position. It returns the bytes written so far and
// removes them from the buffer.
func (w *Increment) Skip(n int64) []byte {
	head := w.buf
	w.base += int64(len(head)) + n
	w.buf = nil
	return head
}

// Put writes an object.
func (w *Increment) Put(ref Ref, v Value) {
	w.Begin(ref)
	w.buf = append(w.buf, v...)
	w.End()
}

// PutDict writes a dictionary.
func (w *Increment) PutDict(ref Ref, d Dict) {
	w.Begin(ref)
	w.buf = d.Append(w.buf)
	w.End()
}

// Add writes a new object and returns its reference.
func (w *Increment) Add(v Value) Ref {
	ref := w.Reserve()
	w.Put(ref, v)
	return ref
}

// deflateThreshold is the size, in bytes, above which compression is worthwhile.
const deflateThreshold = 512

// Grow allocates space for the given number of further objects, with the given total size in bytes.
func (w *Increment) Grow(objects, size int) {
	w.objects = slices.Grow(w.objects, objects)
	if memory, ok := increments.Get().(*[]byte); ok && cap(*memory) >= len(w.buf)+size {
		w.buf = append((*memory)[:0], w.buf...)
	}
	w.buf = slices.Grow(w.buf, size)
}

// increments contains buffers of released increments.
var increments sync.Pool

// maxRetained is the maximum size of a buffer retained for reuse, in bytes.
const maxRetained = 4 << 20

// Free releases the buffer for reuse by another increment. The increment, and slices returned by Bytes, must not be
// used afterwards.
func (w *Increment) Free() {
	if memory := w.buf; cap(memory) <= maxRetained {
		increments.Put(&memory)
	}
	w.buf = nil
}

// AddStream writes a new stream. It compresses the data if that makes it smaller.
func (w *Increment) AddStream(d Dict, data []byte) Ref {
	d = d.Clone()
	if len(data) > deflateThreshold && d.Get("Filter") == nil {
		if z := Deflate(data); len(z) < len(data) {
			d.Set("Filter", Value("/FlateDecode"))
			data = z
		}
	}
	d.Set("Length", Value(strconv.Itoa(len(data))))
	return w.AddStored(d.Value(), data)
}

// AddStored writes a new stream with the given dictionary and unchanged data.
func (w *Increment) AddStored(d Value, data []byte) Ref {
	ref := w.Reserve()
	w.Begin(ref)
	w.buf = append(w.buf, d...)
	w.buf = append(w.buf, "\nstream\n"...)
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, "\nendstream"...)
	w.End()
	return ref
}

// Finish writes the cross-reference section and the trailer. The trailer contains root, and info if it is not nil. The
// argument id is the second part of the file identifier.
func (w *Increment) Finish(root Ref, info *Ref, id []byte) error {
	t := Dict{{"Root", root.Value()}}
	switch {
	case info != nil:
		t.Set("Info", info.Value())
	case w.original.Get("Info") != nil:
		t.Set("Info", w.original.Get("Info"))
	}
	first := Value(AppendHex(nil, id))
	if a, err := w.original.Get("ID").Array(); err == nil && len(a) == 2 {
		if _, ok := a[0].Bytes(); ok {
			first = a[0]
		}
	}
	t.Set("ID", slices.Concat(Value("["), first, Value(" "), AppendHex(nil, id), Value("]")))
	if w.prev >= 0 {
		t.Set("Prev", Value(strconv.FormatInt(w.prev, 10)))
	}
	if w.Offset() > 9_999_999_999 {
		return fmt.Errorf("%w: file of 10 GB or more", ErrLimit)
	}
	var self Ref
	if w.stream {
		self = w.Reserve() // the stream contains an entry for itself
	}
	t.Set("Size", Value(strconv.Itoa(w.next)))
	at := w.Offset()
	if w.stream {
		w.objects = append(w.objects, written{self, at})
	}
	slices.SortFunc(w.objects, func(a, b written) int { return cmp.Compare(a.ref.Num, b.ref.Num) })
	for i := 1; i < len(w.objects); i++ {
		if w.objects[i].ref.Num == w.objects[i-1].ref.Num {
			return damaged("object %d is used for two purposes", w.objects[i].ref.Num)
		}
	}
	if w.stream {
		w.xrefStream(self, t)
	} else {
		w.xrefTable(t)
	}
	w.buf = fmt.Appendf(w.buf, "startxref\n%d\n%%%%EOF\n", at)
	return nil
}

// eachRun calls fn for each run of consecutive object numbers.
func (w *Increment) eachRun(fn func(run []written)) {
	for i := 0; i < len(w.objects); {
		j := i + 1
		for j < len(w.objects) && w.objects[j].ref.Num == w.objects[j-1].ref.Num+1 {
			j++
		}
		fn(w.objects[i:j])
		i = j
	}
}

func (w *Increment) xrefTable(t Dict) {
	w.buf = append(w.buf, "xref\n"...)
	if w.prev < 0 {
		w.buf = append(w.buf, "0 1\n0000000000 65535 f\r\n"...)
	}
	w.eachRun(func(run []written) {
		w.buf = strconv.AppendInt(w.buf, int64(run[0].ref.Num), 10)
		w.buf = append(w.buf, ' ')
		w.buf = strconv.AppendInt(w.buf, int64(len(run)), 10)
		w.buf = append(w.buf, '\n')
		for _, o := range run {
			w.buf = appendPadded(w.buf, o.at, 10)
			w.buf = append(w.buf, ' ')
			w.buf = appendPadded(w.buf, int64(o.ref.Gen), 5)
			w.buf = append(w.buf, " n\r\n"...)
		}
	})
	w.buf = append(w.buf, "trailer\n"...)
	w.buf = t.Append(w.buf)
	w.buf = append(w.buf, '\n')
}

func (w *Increment) xrefStream(self Ref, t Dict) {
	var data, index []byte
	w.eachRun(func(run []written) {
		index = fmt.Appendf(index, "%d %d ", run[0].ref.Num, len(run))
		for _, o := range run {
			data = append(data, 1, byte(o.at>>32), byte(o.at>>24), byte(o.at>>16), byte(o.at>>8), byte(o.at), //nolint:gosec // byte by byte
				byte(o.ref.Gen>>8), byte(o.ref.Gen)) //nolint:gosec // byte by byte
		}
	})
	d := append(Dict{{"Type", Value("/XRef")}, {"W", Value("[1 5 2]")}}, t...)
	d.Set("Index", slices.Concat(Value("["), bytes.TrimRight(index, " "), Value("]")))
	d.Set("Length", Value(strconv.Itoa(len(data))))
	w.buf = fmt.Appendf(w.buf, "%d 0 obj\n", self.Num)
	w.buf = d.Append(w.buf)
	w.buf = append(w.buf, "\nstream\n"...)
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, "\nendstream\nendobj\n"...)
}

func appendPadded(b []byte, n int64, width int) []byte {
	var tmp [20]byte
	s := strconv.AppendInt(tmp[:0], n, 10)
	for i := len(s); i < width; i++ {
		b = append(b, '0')
	}
	return append(b, s...)
}

// deflaters contains idle compressors for reuse, because each one uses about 800 KB.
var deflaters = make(chan *zlib.Writer, 4)

// Deflate compresses data for FlateDecode (7.4.4), optimized for speed.
func Deflate(data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(data)/3 + 64)
	var z *zlib.Writer
	select {
	case z = <-deflaters:
		z.Reset(&b)
	default:
		z, _ = zlib.NewWriterLevel(&b, zlib.BestSpeed) // the level is valid
	}
	_, _ = z.Write(data) // writing to a bytes.Buffer never fails
	_ = z.Close()
	select {
	case deflaters <- z:
	default:
	}
	return b.Bytes()
}

// AppendHex appends a hexadecimal string (7.3.4.3).
func AppendHex(b, s []byte) []byte {
	return fmt.Appendf(b, "<%X>", s)
}

// StructureWords contains the beginning of the seal's mark, and keywords that a program could mistake for PDF syntax
// when it scans a file. Entered text is written without these words.
var StructureWords = []string{" obj", "endobj", "endstream", "xref", "trailer", "%%EOF", "%PDF-", "_Seal<<"}

func containsStructureWord(s string) bool {
	return slices.ContainsFunc(StructureWords, func(word string) bool { return strings.Contains(s, word) })
}

// AppendText appends a text string (7.9.2.2). It writes ASCII text unchanged unless the text contains a structure word,
// and other text in UTF-16.
func AppendText(b []byte, s string) []byte {
	if !containsStructureWord(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		b = append(b, '(')
		for i := range len(s) {
			if c := s[i]; c == '(' || c == ')' || c == '\\' {
				b = append(b, '\\')
			}
			b = append(b, s[i])
		}
		return append(b, ')')
	}
	b = append(b, "<FEFF"...)
	b = AppendUTF16(b, s)
	return append(b, '>')
}

// AppendURI appends a URI, which is ASCII in both string forms (12.6.4.8).
func AppendURI(b []byte, s string) []byte {
	if containsStructureWord(s) {
		return AppendHex(b, []byte(s))
	}
	return AppendText(b, s)
}

// AppendUTF16 appends s in UTF-16BE as hexadecimal digits.
func AppendUTF16(b []byte, s string) []byte {
	var units [2]uint16
	for _, r := range s {
		for _, unit := range utf16.AppendRune(units[:0], r) {
			b = fmt.Appendf(b, "%04X", unit)
		}
	}
	return b
}

// AppendNumber appends a number with at most four decimal places.
func AppendNumber(b []byte, n float64) []byte {
	n = math.Round(n*1e4) / 1e4
	if n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return append(b, '0')
	}
	return strconv.AppendFloat(b, n, 'f', -1, 64)
}
