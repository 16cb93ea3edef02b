package forgeries_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/refusal"
)

// continuation is an original that a program reads in one way alone, and in another
// below the seal's increment: who signs in it sees another text than whoever opens
// the sealed file in the same program.
type continuation struct {
	name  string
	bytes func() []byte
	alone []effect // of the upload, which shows honestText
	later []effect // of the sealed file, which is VALID and shows forgedText
}

func continuations() []continuation {
	// twice lists an object 5, and holds another one that is not listed.
	twice := func() *draft {
		d := newDraft()
		d.objects[objContent] = textStream(forgedText)
		d.last = "5 0 obj\n" + textStream(honestText) + "\nendobj\n"
		return d
	}
	replaced := func(d *draft, from, to string) func() []byte {
		return func() []byte { return bytes.Replace(d.bytes(), []byte(from), []byte(to), 1) }
	}
	inAll := func(text string) []effect { return []effect{poppler(text), mupdf(text), pdfjs(text)} }
	inPDFjs := func(text string) []effect { return []effect{pdfjs(text)} }
	inPoppler := func(text string) []effect { return []effect{poppler(text)} }
	stream := func(change func(b []byte) []byte) func() []byte {
		return func() []byte { return change(twice().withStream()) }
	}
	decoy := map[int]string{8: strings.Replace(pageOf(9, ""), "/Parent 2 0 R", "", 1), 9: textStream(honestText)}
	withDecoy := func(more map[int]string) map[int]string {
		m := maps.Clone(decoy)
		m[objContent] = textStream(forgedText)
		maps.Copy(m, more)
		return m
	}
	return []continuation{
		{"start-behind-comment", replaced(twice(), "startxref\n", "startxref\n%\n"), inAll(honestText), inAll(forgedText)},
		{"start-behind-null", replaced(twice(), "startxref\n", "startxref\x00"), inPDFjs(honestText), inPDFjs(forgedText)},
		{"start-behind-form-feed", replaced(twice(), "startxref\n", "startxref\f"), inPDFjs(honestText), inPDFjs(forgedText)},
		{"object-0-in-use", func() []byte {
			d := twice()
			d.last += "0 0 obj\nnull\nendobj\n"
			b := d.bytes()
			return bytes.Replace(b, []byte("0000000000 65535 f"), fmt.Appendf(nil, "%010d 00000 n", bytes.Index(b, []byte("0 0 obj\nnull"))), 1)
		}, inPDFjs(honestText), inPDFjs(forgedText)},
		{"object-0-in-use-at-0", replaced(twice(), "0000000000 65535 f", "0000000000 65535 n"), inPDFjs(honestText), inPDFjs(forgedText)},
		{"entry-with-comment", func() []byte { return replaceLast(twice().bytes(), " 00000 n \ntrailer", "%00000 n \ntrailer") }, inPDFjs(honestText), inPDFjs(forgedText)},
		{"entry-beside-trailer", replaced(twice(), " 00000 n \ntrailer", " 00000 ntrailer"), inPDFjs(honestText), inPDFjs(forgedText)},
		{"entry-beside-subsection", replaced(twice(), " 00000 n \n5 1\n", " 00000 n5 1\n"), inPDFjs(honestText), nil},
		{"section-beside-number", replaced(twice(), "xref\n0 ", "xref0 "), inPDFjs(honestText), nil},
		{"entry-of-type-3", stream(func(b []byte) []byte { return replaceLast(b, fmt.Sprintf("01%08X>", lastXRef(b)), "0300000000>") }), inPDFjs(honestText), inPDFjs(forgedText)},
		{"entries-promised", stream(func(b []byte) []byte { return bytes.Replace(b, []byte("/Size 9"), []byte("/Size 9/Index[0 99]"), 1) }), inPDFjs(honestText), inPDFjs(forgedText)},
		{"linearized-page", func() []byte { return linearized{objects: withDecoy(nil), entries: "/H[1 1]/O 8/E 1/N 2/T 1"}.bytes() }, inPDFjs(honestText), inPDFjs(forgedText)},
		{"linearized-section", func() []byte {
			return linearized{objects: map[int]string{objContent: textStream(forgedText)}, entries: "/H[1 1]/O 4/E 1/N 2/T 1", hidden: textStream(honestText), second: true}.bytes()
		}, append(inPDFjs(honestText), poppler(honestText)), append(inPDFjs(forgedText), poppler(forgedText))},
		{"linearized-hints", func() []byte {
			hints := make([]byte, 36)
			hints[3] = 1
			return linearized{objects: map[int]string{
				objText2: textStream(forgedText), objCatalog: decoy[8], 9: decoy[9],
				21: streamOf("/S 36/Filter/ASCIIHexDecode", hex.EncodeToString(append(hints, make([]byte, 64)...))+">"),
			}, entries: "/H[HINTS 400]/O 4/E 1/N 2/T 1", root: 22}.bytes()
		}, inPoppler(honestText), inPoppler(forgedText)},
		// Its length may become that of the sealed file: whoever seals the same often
		// enough meets it.
		{"linearized-for-more", func() []byte {
			return linearized{objects: map[int]string{objContent: textStream(forgedText)}, entries: "/H[1 1]/O 4/E 1/N 2/T 1", hidden: textStream(honestText), second: true, length: 60_000}.bytes()
		}, inPoppler(forgedText), nil},
	}
}

func replaceLast(b []byte, from, to string) []byte {
	at := bytes.LastIndex(b, []byte(from))
	return slices.Concat(b[:at], []byte(to), b[at+len(from):])
}

// TestContinuations: what a program reads in another way once it is sealed is
// refused at upload.
func TestContinuations(t *testing.T) {
	t.Parallel()
	genuineFiles()
	for _, c := range continuations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := c.bytes()
			for _, e := range c.alone {
				require.NoError(t, e.shown(t.TempDir(), nil, b), "%s of the upload\n%s", e.reader, strings.ToValidUTF8(string(b), "?"))
			}
			if c.later != nil {
				g := newFakeIssuerLike(victim()).make(levelB, b)
				require.Equal(t, valid, verified(g.bytes, g.house.trust()).Verdict)
				for _, e := range c.later {
					require.NoError(t, e.shown(t.TempDir(), nil, g.bytes), "%s of the sealed file", e.reader)
				}
			}
			_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, refusal.PDFAmbiguous, refused.Code, refused.Message)
		})
	}
}

// linearized is the agreement, with a linearization dictionary before all else
// (ISO 32000-2, Annex F).
type linearized struct {
	objects map[int]string // beside, or instead of, those of the agreement
	entries string         // of the dictionary; HINTS is where object 21 is
	length  int            // that it gives; 0: that of the file
	root    int            // the catalog's number, 0: 1
	hidden  string         // another object 5, which the section behind the dictionary lists
	second  bool           // startxref names another section than that one
}

func (l linearized) bytes() []byte {
	objects := newDraft().objects
	l.root = cmp.Or(l.root, objCatalog)
	objects[l.root] = "<</Type/Catalog/Pages 2 0 R>>"
	maps.Copy(objects, l.objects)
	at, hidden, size := map[int]int{}, 0, 0
	table := func(hidden int) string {
		out := "xref\n0 1\n0000000000 65535 f \n"
		for _, n := range sorted(objects) {
			offset := at[n]
			if n == objContent && hidden > 0 {
				offset = hidden
			}
			out += fmt.Sprintf("%d 1\n%010d 00000 n \n", n, offset)
		}
		return out + fmt.Sprintf("trailer\n<</Size 30/Root %d 0 R>>\n", l.root)
	}
	var b []byte
	for range 2 { // the second time all places are known
		length := cmp.Or(l.length, size)
		b = fmt.Appendf(nil, "%%PDF-1.6\n20 0 obj<</Linearized 1/L %010d%s>>endobj\n", length, strings.Replace(l.entries, "HINTS", fmt.Sprintf("%010d", at[21]), 1))
		start := len(b)
		b = append(b, table(max(hidden, 0))+"startxref\n0\n%%EOF\n"...)
		for _, n := range sorted(objects) {
			at[n] = len(b)
			b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", n, objects[n])
		}
		if l.hidden != "" {
			hidden = len(b)
			b = fmt.Appendf(b, "5 0 obj\n%s\nendobj\n", l.hidden)
		}
		if l.second {
			start = len(b)
			b = append(b, table(0)...)
		}
		b = fmt.Appendf(b, "startxref\n%010d\n%%%%EOF\n", start)
		size = len(b)
	}
	return b
}
