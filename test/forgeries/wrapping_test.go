package forgeries_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// The honest and the forged amount, which have the same length, and a forged sentence.
const (
	honestAmount = "100 euros"
	forgedAmount = "999 euros"
	forgedInside = "Ada pays 999 euros to Jomo"
)

// wrappingForgeries returns signature wrapping attacks (SWA). The second part that the signature covers is moved, and
// other bytes replace it.
func wrappingForgeries() []forgery {
	const class = "signature wrapping"
	unarchived := []level{levelB, levelT}
	return []forgery{
		{
			name: "swa-second-byte-range", class: class, levels: unarchived, want: broken, shows: poppler(forgedText),
			make: func(g *genuine) []byte { return wrapped(g, "/ByteRange[0 %d %d %d]") },
		},
		{
			name: "swa-byte-range-in-another-object", class: class, levels: unarchived, want: broken, shows: poppler(forgedText),
			make: func(g *genuine) []byte {
				return wrapped(g, ">>\nendobj\n7000 0 obj\n<</Type/Sig/ByteRange[0 %d %d %d]")
			},
		},
		{
			name: "swa-comment", class: class, levels: unarchived, want: broken, shows: poppler(forgedText),
			make: func(g *genuine) []byte { return wrapped(g, "%% %d %d %d\n") },
		},
	}
}

// wrapped removes the padding of the signature, and inserts a byte range and a forged update in its place. The sealed
// section is then at the position that the forger needs.
func wrapped(g *genuine, entry string) []byte {
	b := g.sealed
	h := holes(b, len(g.original))[0]
	inc := takeApart(b, len(g.original))
	second := b[h.to:h.end]
	start := lastXRef(b)
	build := func(moved int) []byte {
		w := &writer{b: bytes.Clone(b[:h.from])}
		w.text("<" + hex.EncodeToString(h.value(b)) + ">").text(fmt.Sprintf(entry, h.from, moved, len(second))).text(">>\nendobj\n")
		w.object(objContent, 0, textStream(forgedText))
		w.text("%" + strings.Repeat("x", start-len(w.b)-2) + "\n")
		at := len(g.original) + len(inc.lead)
		for _, p := range inc.parts {
			size := len(fmt.Sprintf("%d %d obj\n%s\nendobj\n", p.number, p.generation, p.body))
			if at < h.from {
				w.entries = append(w.entries, place{p.number, p.generation, at})
			} else {
				w.entries = append(w.entries, place{p.number, p.generation, at - h.to + moved})
			}
			at += size
		}
		slices.SortFunc(w.entries, func(a, b place) int { return cmp.Compare(a.number, b.number) })
		w.text("xref\n")
		for _, e := range w.entries {
			w.text(fmt.Sprintf("%d 1\n%010d %05d n \n", e.number, e.at, e.generation))
		}
		return w.text("trailer\n" + inc.trailer + "\n").b
	}
	moved := len(build(0))
	for {
		again := build(moved)
		if len(again) == moved {
			return append(again, second...)
		}
		moved = len(again)
	}
}

// universal returns universal signature forgeries (USF), which contain a meaningless signature in a file whose text was
// altered.
func universal() []forgery {
	usf := func(name string, change func(b []byte, h hole)) forgery {
		f := forgery{name: "usf-" + name, class: "universal signature forgery", want: broken, shows: poppler(forgedInside)}
		f.make = func(g *genuine) []byte {
			b := replaceSame(g.bytes, honestAmount, forgedAmount)
			change(b, holes(b, len(g.original))[0])
			return b
		}
		return f
	}
	fill := func(b []byte, s string) { copy(b, s+strings.Repeat(" ", len(b)-len(s))) }
	contents := func(s string) func([]byte, hole) {
		return func(b []byte, h hole) { fill(b[h.from:h.to], s) }
	}
	numbers := func(format string) func([]byte, hole) {
		return func(b []byte, h hole) {
			fill(b[h.rangeFrom-len("0 "):h.rangeTo], strings.NewReplacer("FROM", fmt.Sprint(h.from), "TO", fmt.Sprint(h.to), "REST", fmt.Sprint(h.end-h.to),
				"END", fmt.Sprint(h.end)).Replace(format))
		}
	}
	key := func(old, replacement string) func([]byte, hole) {
		return func(b []byte, h hole) {
			at := h.object + bytes.Index(b[h.object:], []byte(old))
			copy(b[at:], replacement)
		}
	}
	return []forgery{
		usf("changed-text", func([]byte, hole) {}),
		usf("contents-missing", key("/Contents", "/Contentz")),
		usf("contents-empty", contents("<>")),
		usf("contents-null", contents("null")),
		usf("contents-one-zero", contents("<00>")),
		usf("contents-zeros", func(b []byte, h hole) {
			copy(b[h.from+1:h.to-1], strings.Repeat("0", h.to-h.from-2))
		}),
		usf("contents-literal", contents("(signature)")),
		usf("contents-reference", contents("5 0 R")),
		usf("byte-range-missing", key("/ByteRange", "/ByteRangf")),
		usf("byte-range-null", func(b []byte, h hole) {
			fill(b[h.rangeFrom-len("[0 "):h.rangeTo+1], " null")
		}),
		usf("byte-range-empty", numbers("")),
		usf("byte-range-zeros", numbers("0 0 0 0")),
		usf("byte-range-negative", numbers("0 -1 -1 -1")),
		usf("byte-range-first-part-only", numbers("0 FROM TO 0")),
		usf("byte-range-overlap", numbers("0 TO FROM REST")),
		usf("byte-range-whole-file", numbers("0 END END 0")),
		usf("byte-range-beyond-the-end", numbers("0 FROM TO 9999999")),
		usf("byte-range-overflow", numbers("0 FROM TO 9223372036854775807")),
		usf("byte-range-leading-zeros", numbers("0 00FROM TO REST")),
		usf("byte-range-shifted-start", numbers("1 FROM TO REST")),
		usf("sub-filter-removed", key("/SubFilter", "/SubFiltre")),
		usf("filter-of-nobody", key("Adobe.PPKLite", "Adobe.PPKNone")),
		usf("type-removed", key("/Type/Sig", "/Typo/Sig")),
		usf("permissions-removed", func(b []byte, _ hole) {
			at := bytes.LastIndex(b, []byte("/Perms"))
			for at >= 0 {
				copy(b[at:], "/Permz")
				at = bytes.LastIndex(b, []byte("/Perms"))
			}
		}),
	}
}
