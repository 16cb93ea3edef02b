package archive1

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// writer collects the objects of an increment.
type writer struct {
	base    int64 // offset of b in the file
	b       []byte
	next    int
	written []entry
}

type entry struct {
	object Object
	at     int64
}

func (w *writer) allocate() int {
	w.next++
	return w.next - 1
}

func (w *writer) add(s string) { w.b = append(w.b, s...) }

func (w *writer) begin(o Object) {
	w.written = append(w.written, entry{o, w.base + int64(len(w.b))})
	w.b = fmt.Appendf(w.b, "%d %d obj\n", o.Num, o.Gen)
}

func (w *writer) end() { w.add("\nendobj\n") }

// stream writes DER in hexadecimal. A program that scans for objects cannot mistake the digits for PDF syntax, and no
// compressor's output has to be reproduced.
func (w *writer) stream(der []byte) int {
	n := w.allocate()
	w.begin(Object{n, 0})
	w.b = append(w.b, streamHead(len(der))...)
	w.b = hex.AppendEncode(w.b, der)
	w.add(streamTail)
	w.end()
	return n
}

func streamHead(size int) string {
	return "<</Filter/ASCIIHexDecode/Length " + strconv.Itoa(2*size+1) + ">>\nstream\n"
}

const streamTail = ">\nendstream"

// finish writes the cross-reference section and returns the position of the nonce.
func (w *writer) finish(r Revision, nonce [NonceSize]byte) int {
	self := 0
	start := w.base + int64(len(w.b))
	if r.Stream {
		self = w.allocate() // the stream lists itself
		w.written = append(w.written, entry{Object{self, 0}, start})
	}
	slices.SortFunc(w.written, func(a, b entry) int { return cmp.Compare(a.object.Num, b.object.Num) })
	trailer := fmt.Sprintf("/Root %d %d R\n", r.Root.Num, r.Root.Gen)
	if r.Info != "" {
		trailer += "/Info " + r.Info + "\n"
	}
	trailer += fmt.Sprintf("/Prev %d\n/Size %d\n/ID[%s<", r.Start, w.next, r.ID)
	if r.Stream {
		var index []string
		var data strings.Builder
		w.eachRun(func(run []entry) {
			index = append(index, fmt.Sprintf("%d %d", run[0].object.Num, len(run)))
			for _, e := range run {
				fmt.Fprintf(&data, "01%010X%04X", e.at, e.object.Gen)
			}
		})
		w.b = fmt.Appendf(w.b, "%d 0 obj\n<</Type/XRef/W[1 5 2]/Index[%s]/Filter/ASCIIHexDecode/Length %d\n%s", self, strings.Join(index, " "), data.Len()+1, trailer)
		at := len(w.b)
		w.b = fmt.Appendf(w.b, "%X>]>>\nstream\n%s>\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", nonce, data.String(), start)
		return at
	}
	w.add("xref\n")
	w.eachRun(func(run []entry) {
		w.b = fmt.Appendf(w.b, "%d %d\n", run[0].object.Num, len(run))
		for _, e := range run {
			w.b = fmt.Appendf(w.b, "%010d %05d n\r\n", e.at, e.object.Gen)
		}
	})
	w.add("trailer\n<<" + trailer)
	at := len(w.b)
	w.b = fmt.Appendf(w.b, "%X>]>>\nstartxref\n%d\n%%%%EOF\n", nonce, start)
	return at
}

// eachRun calls fn for each run of consecutive object numbers.
func (w *writer) eachRun(fn func(run []entry)) {
	for i := 0; i < len(w.written); {
		j := i + 1
		for j < len(w.written) && w.written[j].object.Num == w.written[j-1].object.Num+1 {
			j++
		}
		fn(w.written[i:j])
		i = j
	}
}
