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

// Increment is an incremental update (7.5.6) in the making: the bytes that
// follow a file, or, made by NewDocument, a whole document.
type Increment struct {
	base     int64 // where buf begins in the file
	buf      []byte
	next     int // the next free object number
	objects  []written
	prev     int64 // startxref of the file; -1: none
	stream   bool  // write a cross-reference stream
	original Dict  // trailer of the file
}

type written struct {
	ref Ref
	at  int64
}

// NewIncrement begins an update of f. It will end in a cross-reference section
// of the kind that f uses.
func NewIncrement(f *File) (*Increment, error) {
	size, ok := f.trailer.Get("Size").Int()
	if !ok {
		return nil, damaged("bad Size in the trailer")
	}
	w := &Increment{base: f.size, prev: f.start, stream: f.UsesXRefStream(), original: f.trailer}
	w.next = int(size)
	// A Size that is too small would let us take a number that is in use.
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

// DefineUndefined defines as null what the file refers to but does not have, and
// takes new numbers above every one that the file mentions: nothing in the file
// would then wait for an object that is appended later. It comes before all objects.
func (w *Increment) DefineUndefined(m Mentioned) error {
	if w.next = max(w.next, m.Highest+1); w.next > lastNewObject {
		return fmt.Errorf("%w: no object numbers are left", ErrLimit)
	}
	for _, ref := range m.Undefined {
		w.Put(ref, Value("null"))
	}
	return nil
}

// lastNewObject leaves object numbers for additions.
const lastNewObject = maxObjectNum - 1_000_000

// NewDocument begins a new document.
func NewDocument() *Increment {
	return &Increment{next: 1, prev: -1, buf: []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")}
}

// Reserve takes a new object number.
func (w *Increment) Reserve() Ref {
	w.next++
	return Ref{Num: w.next - 1}
}

// Bytes returns the bytes written so far.
func (w *Increment) Bytes() []byte { return w.buf }

// Offset returns where the next byte will be in the file.
func (w *Increment) Offset() int64 { return w.base + int64(len(w.buf)) }

// Begin writes the header of an object; the caller appends its body by Append
// and calls End.
func (w *Increment) Begin(ref Ref) {
	w.objects = append(w.objects, written{ref, w.Offset()})
	w.buf = strconv.AppendInt(w.buf, int64(ref.Num), 10)
	w.buf = append(w.buf, ' ')
	w.buf = strconv.AppendInt(w.buf, int64(ref.Gen), 10)
	w.buf = append(w.buf, " obj\n"...)
}

// Append writes to the current object.
func (w *Increment) Append(b []byte) { w.buf = append(w.buf, b...) }

// AppendString writes to the current object.
func (w *Increment) AppendString(s string) { w.buf = append(w.buf, s...) }

// End ends the current object.
func (w *Increment) End() { w.buf = append(w.buf, "\nendobj\n"...) }

// Skip leaves room for n bytes that the caller streams into the file at this point. It returns the bytes written so
// far, and drops them.
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

// deflateThreshold is the size in bytes from which compression saves more than it
// costs.
const deflateThreshold = 512

// Grow makes room for more objects, of size bytes in total.
func (w *Increment) Grow(objects, size int) {
	w.objects = slices.Grow(w.objects, objects)
	if memory, ok := increments.Get().(*[]byte); ok && cap(*memory) >= len(w.buf)+size {
		w.buf = append((*memory)[:0], w.buf...)
	}
	w.buf = slices.Grow(w.buf, size)
}

// increments is the memory of those that are not needed any more.
var increments sync.Pool

// maxKept limits the memory kept from one increment, in bytes.
const maxKept = 4 << 20

// Free keeps the memory for another increment. Neither this one nor what Bytes
// returned may be used afterwards.
func (w *Increment) Free() {
	if memory := w.buf; cap(memory) <= maxKept {
		increments.Put(&memory)
	}
	w.buf = nil
}

// AddStream writes a new stream, compressed if that makes it smaller.
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

// AddStored writes a new stream, its data unchanged, after its dictionary.
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

// Finish writes the cross-reference section and the trailer. root, and info if
// not nil, go into the trailer; id is the new second half of the file identifier.
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
		self = w.Reserve() // the stream lists itself
	}
	t.Set("Size", Value(strconv.Itoa(w.next)))
	at := w.Offset()
	if w.stream {
		w.objects = append(w.objects, written{self, at})
	}
	slices.SortFunc(w.objects, func(a, b written) int { return cmp.Compare(a.ref.Num, b.ref.Num) })
	for i := 1; i < len(w.objects); i++ {
		if w.objects[i].ref.Num == w.objects[i-1].ref.Num {
			return damaged("object %d serves two purposes", w.objects[i].ref.Num)
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

// deflaters are kept for the next stream: one has some 800 KB.
var deflaters = make(chan *zlib.Writer, 4)

// Deflate compresses data for FlateDecode (7.4.4), quickly rather than well.
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
	_, _ = z.Write(data) // a bytes.Buffer takes everything
	_ = z.Close()
	select {
	case deflaters <- z:
	default:
	}
	return b.Bytes()
}

// AppendHex writes a hexadecimal string (7.3.4.3).
func AppendHex(b, s []byte) []byte {
	return fmt.Appendf(b, "<%X>", s)
}

// StructureWords are texts that a program that searches a file takes for its structure, and the beginning of the
// seal's mark. Entered text is written so that none of them occurs in it.
var StructureWords = []string{" obj", "endobj", "endstream", "xref", "trailer", "%%EOF", "%PDF-", "_Seal<<"}

func holdsStructureWord(s string) bool {
	return slices.ContainsFunc(StructureWords, func(word string) bool { return strings.Contains(s, word) })
}

// AppendText writes a text string (7.9.2.2): ASCII as it stands, unless it could be
// taken for a part of the file, else UTF-16.
func AppendText(b []byte, s string) []byte {
	if !holdsStructureWord(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
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

// AppendURI writes an address, which is ASCII in either form (12.6.4.8).
func AppendURI(b []byte, s string) []byte {
	if holdsStructureWord(s) {
		return AppendHex(b, []byte(s))
	}
	return AppendText(b, s)
}

// AppendUTF16 writes s as hexadecimal digits of UTF-16BE.
func AppendUTF16(b []byte, s string) []byte {
	var units [2]uint16
	for _, r := range s {
		for _, unit := range utf16.AppendRune(units[:0], r) {
			b = fmt.Appendf(b, "%04X", unit)
		}
	}
	return b
}

// AppendNumber writes a number with at most four decimals.
func AppendNumber(b []byte, n float64) []byte {
	n = math.Round(n*1e4) / 1e4
	if n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return append(b, '0')
	}
	return strconv.AppendFloat(b, n, 'f', -1, 64)
}
