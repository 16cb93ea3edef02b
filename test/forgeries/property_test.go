package forgeries_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// knownRevisions contains a genuine file, all revisions of it that the service has written, and increments that the
// service has written to other files.
type knownRevisions struct {
	*genuine
	revisions [][]byte // each revision is a prefix of the next one
	foreign   [][]byte // increments of other files
}

// written contains one file of each level, and one of the highest level whose original has a cross-reference stream.
var written = sync.OnceValue(func() map[string]*knownRevisions {
	out := map[string]*knownRevisions{}
	other := newFakeIssuerLike(victim())
	foreign := other.make(levelLTA, filledForm())
	files := map[string]*genuine{"stream": other.make(levelLTA, newDraft().withStream())}
	for _, l := range levels {
		files[string(l)] = genuineFiles()[l]
	}
	for name, g := range files {
		w := &knownRevisions{genuine: g, revisions: [][]byte{g.sealed}}
		for _, s := range g.later() {
			w.revisions = append(w.revisions, g.bytes[:s.to])
		}
		for _, s := range foreign.later() {
			w.foreign = append(w.foreign, foreign.bytes[s.from:s.to])
		}
		out[name] = w
	}
	return out
})

// genuineRevision reports whether the service wrote exactly these bytes.
func (w *knownRevisions) genuineRevision(b []byte) bool {
	return slices.ContainsFunc(w.revisions, func(r []byte) bool { return bytes.Equal(r, b) })
}

// appended generates bytes to append to a file. The bytes are increments in the form that programs write. They contain
// random objects, sections and trailers in random order and notation, and pieces written by the service.
func appended(t *rapid.T, w *knownRevisions) []byte {
	pick := func(label string, list ...string) string { return rapid.SampledFrom(list).Draw(t, label) }
	number := func(label string) int {
		return rapid.OneOf(rapid.IntRange(0, 70), rapid.SampledFrom([]int{5000, 8388607, -1, 9999999999})).Draw(t, label)
	}
	base := w.revisions[rapid.IntRange(0, len(w.revisions)-1).Draw(t, "base")]
	out := bytes.Clone(base)
	starts := []int{lastXRef(w.original), lastXRef(w.sealed), 0, len(base)}
	object := func() string {
		value := pick("value", "null", "<<>>", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[4 0 R]/Count 1>>", textStream(forgedText), pageOf(5, ""),
			"<</Type/Catalog/Pages 2 0 R/Pages 5000 0 R>>", "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached>>", streamOf("/Type/ObjStm/N 1/First 4", "5 0 <<>>"))
		return fmt.Sprintf("%d %d obj%s%s%sendobj\n", number("number"), rapid.IntRange(0, 2).Draw(t, "generation"), pick("space", "\n", " ", "\r", "\r\n", "%\n"), value, pick("space", "\n", " ", ""))
	}
	section := func() string {
		at := len(out)
		starts = append(starts, at)
		s := pick("xref", "xref\n", "xref ", "% \nxref\n", "\nxref\r\n", "")
		for range rapid.IntRange(0, 3).Draw(t, "subsections") {
			s += fmt.Sprintf("%d 1\n%010d %05d %s", number("number"), rapid.IntRange(0, len(out)).Draw(t, "offset"), rapid.IntRange(0, 2).Draw(t, "generation"),
				pick("entry", "n \n", "f \n", "n\r\n", "n\n", "x\n\n"))
		}
		return s
	}
	trailer := func() string {
		return fmt.Sprintf("trailer\n<</Size %d/Root %s/Prev %d%s>>\n", number("size"), pick("root", "1 0 R", "5000 0 R", "2 0 R"), rapid.SampledFrom(starts).Draw(t, "prev"),
			pick("more", "", "/Root 5000 0 R", "/Info 5 0 R", "/Encrypt<<>>", "/XRefStm 100", "/ID[<00><00>]"))
	}
	for range rapid.IntRange(1, 6).Draw(t, "parts") {
		switch rapid.IntRange(0, 9).Draw(t, "part") {
		case 0, 1:
			out = append(out, object()...)
		case 2:
			out = append(out, section()...)
		case 3:
			out = append(out, trailer()...)
		case 4:
			out = fmt.Appendf(out, "%s%d%s%%%%EOF%s", pick("start", "startxref\n", "startxref ", "%startxref\n"), rapid.SampledFrom(starts).Draw(t, "start"), pick("space", "\n", "\r", " "),
				pick("end", "\n", "", "\r\n", strings.Repeat(" ", 2000)))
		case 5:
			out = append(out, rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")...)
		case 6:
			out = append(out, w.foreign[rapid.IntRange(0, len(w.foreign)-1).Draw(t, "foreign")]...)
		case 7: // pieces that the service wrote after another revision
			i := rapid.IntRange(0, len(w.revisions)-1).Draw(t, "revision")
			from := 0
			if i > 0 {
				from = len(w.revisions[i-1])
			}
			out = append(out, w.revisions[i][from:]...)
		case 8: // a part of such a piece
			all := w.bytes
			from := rapid.IntRange(0, len(all)-1).Draw(t, "from")
			out = append(out, all[from:min(len(all), from+rapid.IntRange(1, 4000).Draw(t, "length"))]...)
		case 9:
			out = append(out, after(nil).object(number("number"), 0, textStream(forgedText)).table(rapid.SampledFrom(starts).Draw(t, "prev"), "/Root 1 0 R")...)
		}
	}
	return out
}

// propertyAppended checks that a genuine file with appended bytes is valid only if the service wrote these bytes.
func propertyAppended(name string) func(t *rapid.T) {
	return func(t *rapid.T) {
		w := written()[name]
		b := appended(t, w)
		r := verified(b, w.house.trust())
		if genuine := w.genuineRevision(b); genuine != (r.Verdict == valid) {
			t.Fatalf("genuine: %v, verdict %s\n%s", genuine, r.Verdict, explain(r))
		}
		if r.Verdict == notSealed {
			t.Fatalf("the sealed revision was found: %s", explain(r))
		}
		checkReport(t, b, r, w.house.trust())
	}
}

func TestPropertyAppended(t *testing.T) {
	t.Parallel()
	for name := range written() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, propertyAppended(name))
		})
	}
}

// FuzzAppended checks propertyAppended with the fuzzing engine.
func FuzzAppended(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(propertyAppended(string(levelLTA))))
}

// FuzzBytesAppended appends arbitrary bytes to genuine files.
func FuzzBytesAppended(f *testing.F) {
	f.Add([]byte("\n"))
	f.Add([]byte("startxref\n0\n%%EOF\n"))
	f.Add([]byte("5 0 obj\n<<>>\nendobj\nxref\n5 1\n0000000000 00000 n \ntrailer\n<</Size 6/Root 1 0 R/Prev 700>>\nstartxref\n700\n%%EOF\n"))
	f.Fuzz(func(t *testing.T, more []byte) {
		for _, l := range []level{levelB, levelLT} {
			w := written()[string(l)]
			b := slices.Concat(w.bytes, more)
			r := verified(b, w.house.trust())
			require.Equal(t, w.genuineRevision(b), r.Verdict == valid, explain(r))
		}
	})
}

// TestPropertyEdited checks that, after any replacement, deletion, insertion or move, the result is valid only if it
// is a genuine revision.
func TestPropertyEdited(t *testing.T) {
	t.Parallel()
	for name := range written() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := written()[name]
				b := bytes.Clone(w.bytes)
				position := func() int {
					return rapid.OneOf(rapid.IntRange(0, len(b)), rapid.SampledFrom(landmarks(b))).Draw(t, "position")
				}
				for range rapid.IntRange(1, 3).Draw(t, "edits") {
					from := min(position(), len(b))
					to := min(from+rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 20_000)).Draw(t, "length"), len(b))
					switch rapid.IntRange(0, 3).Draw(t, "edit") {
					case 0:
						b = slices.Delete(b, from, to)
					case 1:
						b = slices.Insert(b, from, rapid.SliceOfN(rapid.Byte(), 1, 10).Draw(t, "bytes")...)
					case 2:
						piece := bytes.Clone(b[from:to])
						b = slices.Insert(b, min(position(), len(b)), piece...)
					case 3:
						for i := from; i < min(to, from+4); i++ {
							b[i] = rapid.Byte().Draw(t, "byte")
						}
					}
				}
				r := verified(b, w.house.trust())
				if genuine := w.genuineRevision(b); genuine != (r.Verdict == valid) {
					t.Fatalf("genuine: %v, verdict %s\n%s", genuine, r.Verdict, explain(r))
				}
			})
		})
	}
}

// landmarks returns the positions of the keywords and keys on which parsers base their decisions.
func landmarks(b []byte) []int {
	var out []int
	for _, mark := range []string{"obj", "endobj", "stream", "xref", "trailer", "startxref", "%%EOF", "/ByteRange", "/Contents", "/DSS", "/Perms", "/Root", "/Prev", "/ID"} {
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(mark))
			if i < 0 {
				break
			}
			at += i + 1
			out = append(out, at-1, at-1+len(mark))
		}
	}
	return out
}

// TestEveryByte checks that a file is invalid if any single byte is changed. The short run checks a sample. The long
// run checks every byte of the smallest file, and every 53rd byte of the others.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	for name, g := range written() {
		step := len(g.bytes)/200 | 1
		if *long {
			step = 53
			if name == string(levelB) {
				step = 1
			}
		}
		const parts = 4
		for part := range parts {
			t.Run(fmt.Sprintf("%s-%d", name, part), func(t *testing.T) {
				t.Parallel()
				b := bytes.Clone(g.bytes)
				for at := part * step; at < len(b); at += parts * step {
					// 0x20 changes the case of a letter, or produces a blank
					for _, mask := range []byte{0x01, 0x20} {
						b[at] ^= mask
						r := verified(b, g.house.trust())
						require.NotEqual(t, valid, r.Verdict, "byte %d of %d, mask %x: %s", at, len(b), mask, explain(r))
						b[at] ^= mask
					}
				}
			})
		}
	}
}

// TestEveryBeginning checks that a prefix of a file is valid only if it is a genuine revision.
func TestEveryBeginning(t *testing.T) {
	t.Parallel()
	for name := range written() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := written()[name]
			sizes := landmarks(w.bytes)
			for _, r := range w.revisions {
				sizes = append(sizes, len(r)-1, len(r)-2, len(r), len(r)+1, len(r)+2)
			}
			if !*long {
				sizes = slices.DeleteFunc(sizes, func(n int) bool { return n%5 != 0 && n < len(w.sealed)-200 })
			}
			for _, n := range sizes {
				if n > len(w.bytes) {
					continue
				}
				r := verified(w.bytes[:n], w.house.trust())
				require.Equal(t, w.genuineRevision(w.bytes[:n]), r.Verdict == valid, "%d bytes: %s", n, explain(r))
			}
		})
	}
}

// TestPropertySignature checks that a file is invalid after any change to the structure of the seal's signature
// value.
func TestPropertySignature(t *testing.T) {
	t.Parallel()
	for name := range written() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := written()[name]
				list := holes(w.bytes, len(w.original))
				h := list[rapid.IntRange(0, len(list)-1).Draw(t, "signature")]
				e := parseDER(h.value(w.bytes))
				editElement(t, e)
				der := e.encode()
				if rapid.Bool().Draw(t, "padding") {
					der = append(der, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "behind")...)
				}
				if 2*len(der) > h.to-h.from-2 {
					return
				}
				b := h.put(w.bytes, der)
				if bytes.Equal(b, w.bytes) {
					return
				}
				if r := verified(b, w.house.trust()); r.Verdict == valid {
					t.Fatalf("valid with the signature %s\n%s", hex.EncodeToString(der), explain(r))
				}
			})
		})
	}
}

// editElement changes a random element of the structure.
func editElement(t *rapid.T, e *element) {
	for rapid.IntRange(0, 5).Draw(t, "deeper") > 0 {
		var inner []*element
		for _, k := range e.kids {
			if len(k.kids) > 0 {
				inner = append(inner, k)
			}
		}
		if len(inner) == 0 {
			break
		}
		e = inner[rapid.IntRange(0, len(inner)-1).Draw(t, "element")]
	}
	if len(e.kids) == 0 {
		return
	}
	i := rapid.IntRange(0, len(e.kids)-1).Draw(t, "kid")
	k := e.kids[i]
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		e.kids = slices.Delete(e.kids, i, i+1)
	case 1:
		e.kids = slices.Insert(e.kids, i, k)
	case 2:
		j := rapid.IntRange(0, len(e.kids)-1).Draw(t, "other")
		e.kids[i], e.kids[j] = e.kids[j], e.kids[i]
	case 3:
		if len(k.body) > 0 && len(k.kids) == 0 {
			k.body = bytes.Clone(k.body)
			k.body[rapid.IntRange(0, len(k.body)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
	case 4:
		k.tag ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if k.tag&0x20 == 0 && len(k.kids) > 0 {
			k.tag |= 0x20
		}
	case 5:
		e.kids = append(e.kids, &element{tag: tagNull})
	}
}
