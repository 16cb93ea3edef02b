package forgeries_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
)

// The text of the agreement, and the text of the forgeries.
const (
	honestText = "Ada pays 100 euros to Jomo"
	forgedText = "Ada pays 900000 euros to Mallory"
)

// The object numbers of the agreement.
const (
	objCatalog = 1
	objPages   = 2
	objFont    = 3
	objPage    = 4
	objContent = 5
	objPage2   = 6
	objText2   = 7
)

func textStream(text string) string {
	content := "BT /F1 18 Tf 72 700 Td (" + text + ") Tj ET"
	return streamOf("", content)
}

func streamOf(entries, content string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(content), content)
}

func pageOf(content int, more string) string {
	return fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R%s>>", content, more)
}

// draft is a PDF before it is sealed.
type draft struct {
	objects map[int]string
	catalog string // additional entries
	trailer string // additional entries
	last    string // written before the cross-reference table, but not listed in it
}

func newDraft() *draft {
	return &draft{objects: map[int]string{
		objPages: "<</Type/Pages/Kids[4 0 R 6 0 R]/Count 2>>", objFont: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		objPage: pageOf(objContent, ""), objContent: textStream(honestText),
		objPage2: pageOf(objText2, ""), objText2: textStream("Second page"),
	}}
}

func agreement() []byte { return newDraft().bytes() }

func (d *draft) bytes() []byte {
	objects := map[int]string{objCatalog: "<</Type/Catalog/Pages 2 0 R" + d.catalog + ">>"}
	for n, o := range d.objects {
		objects[n] = o
	}
	w := &writer{b: []byte("%PDF-1.6\n%\xe2\xe3\xcf\xd3\n")}
	for _, n := range sorted(objects) {
		w.object(n, 0, objects[n])
	}
	w.b = append(w.b, d.last...)
	at := len(w.b)
	w.b = append(w.b, "xref\n0 1\n0000000000 65535 f \n"...)
	for _, e := range w.entries {
		w.b = fmt.Appendf(w.b, "%d 1\n%010d 00000 n \n", e.number, e.at)
	}
	highest := w.entries[len(w.entries)-1].number
	w.b = fmt.Appendf(w.b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", highest+1, d.trailer, at)
	return w.b
}

// withStream returns the draft with a cross-reference stream instead of a table.
func (d *draft) withStream() []byte {
	b := d.bytes()
	w := &writer{b: b[:lastXRef(b)]}
	at := len(w.b)
	numbers := sorted(d.objects)
	next := numbers[len(numbers)-1] + 1
	data := "0000000000"
	for n := 1; n < next; n++ {
		o, kind := bytes.Index(b, fmt.Appendf(nil, "\n%d 0 obj", n))+1, 1
		if o == 0 {
			kind = 0
		}
		data += fmt.Sprintf("%02X%08X", kind, o)
	}
	data += fmt.Sprintf("01%08X", at)
	return w.object(next, 0, streamOf(fmt.Sprintf("/Type/XRef/W[1 4 0]/Size %d/Root 1 0 R%s/Filter/ASCIIHexDecode", next+1, d.trailer), data+">")).
		text(fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)).b
}

func sorted[V any](m map[int]V) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

type place struct{ number, generation, at int }

// writer appends objects to a PDF.
type writer struct {
	b       []byte
	entries []place
}

// after begins an increment to a file.
func after(b []byte) *writer {
	b = bytes.Clone(b)
	if !bytes.HasSuffix(b, []byte("\n")) {
		b = append(b, '\n')
	}
	return &writer{b: b}
}

func (w *writer) object(number, generation int, body string) *writer {
	w.entries = append(w.entries, place{number, generation, len(w.b)})
	w.b = fmt.Appendf(w.b, "%d %d obj\n%s\nendobj\n", number, generation, body)
	return w
}

func (w *writer) text(s string) *writer {
	w.b = append(w.b, s...)
	return w
}

var startXRef = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF`)

// lastXRef returns the position in the file's last startxref.
func lastXRef(b []byte) int {
	all := startXRef.FindAllSubmatch(b, -1)
	return must(strconv.Atoi(string(all[len(all)-1][1])))
}

// newestTrailer returns the entries that an increment must retain from the file's last trailer.
func newestTrailer(b []byte) string {
	f := must(pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits()))
	out := "/Root " + string(f.Trailer().Get("Root"))
	if id := f.Trailer().Get("ID"); id != nil {
		out += "/ID" + string(id)
	}
	return out
}

// table ends the increment as any program would, with a table, a trailer that refers to the section at prev, and
// startxref.
func (w *writer) table(prev int, more string) []byte {
	at := len(w.b)
	w.text("xref\n0 0\n")
	highest := 6000
	for _, e := range w.entries {
		w.text(fmt.Sprintf("%d 1\n%010d %05d n \n", e.number, e.at, e.generation))
		highest = max(highest, e.number)
	}
	w.text(fmt.Sprintf("trailer\n<</Size %d/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n", highest+1, prev, more, at))
	return w.b
}

// finish ends an increment to the given file.
func (w *writer) finish(of []byte) []byte { return w.table(lastXRef(of), newestTrailer(of)) }

// update replaces and adds objects in a well-formed incremental update.
func update(b []byte, objects map[int]string) []byte {
	w := after(b)
	for _, n := range sorted(objects) {
		w.object(n, 0, objects[n])
	}
	return w.finish(b)
}

// objectOf returns the source of the newest version of an object.
func objectOf(b []byte, number int) string {
	f := must(pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits()))
	o := must(f.Object(pdf.Ref{Num: number}))
	return string(o.Value)
}

// with returns a dictionary in which an entry is set or, if value is empty, removed.
func with(dict, key, value string) string {
	d := must(pdf.Value(dict).Dict()).Clone()
	if value == "" {
		d = slices.DeleteFunc(d, func(e pdf.Entry) bool { return e.Key == key })
	} else {
		d.Set(key, pdf.Value(value))
	}
	return string(d.Value())
}

func entry(dict, key string) string { return string(must(pdf.Value(dict).Dict()).Get(key)) }

func refNumber(value string) int {
	r, ok := pdf.Value(value).Ref()
	if !ok {
		panic("no reference: " + value)
	}
	return r.Num
}

// hole is the location of a signature in a file.
type hole struct {
	object     int // offset of the object
	rangeFrom  int // position of the numbers in ByteRange
	rangeTo    int
	from, to   int // position of Contents, including its brackets
	end        int // end of the covered part
	structured [3]int
}

var placeholder = regexp.MustCompile(`/ByteRange ?\[0 ((\d+) (\d+) (\d+) *)\]\s*/Contents ?<([0-9a-fA-F]*)>`)

// holes returns the locations of the signatures at or after an offset, in file order.
func holes(b []byte, from int) []hole {
	var out []hole
	for _, m := range placeholder.FindAllSubmatchIndex(b[from:], -1) {
		for i := range m {
			m[i] += from
		}
		h := hole{object: bytes.LastIndex(b[:m[0]], []byte(" obj\n")), rangeFrom: m[2], rangeTo: m[3], from: m[10] - 1, to: m[11] + 1}
		for i := range h.structured {
			h.structured[i] = must(strconv.Atoi(string(b[m[4+2*i]:m[5+2*i]])))
		}
		h.end = h.structured[1] + h.structured[2]
		out = append(out, h)
	}
	return out
}

// coveredBySeal returns the end of the revision that the seal covers.
func coveredBySeal(b []byte, original int) int {
	return holes(b, original)[0].end
}

// replaceSame replaces a string with another one, padded to the same length.
func replaceSame(b []byte, old, replacement string) []byte {
	if len(replacement) > len(old) || !bytes.Contains(b, []byte(old)) {
		panic("cannot replace " + old)
	}
	return bytes.Replace(bytes.Clone(b), []byte(old), []byte(replacement+strings.Repeat(" ", len(old)-len(replacement))), 1)
}
