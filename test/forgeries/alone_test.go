package forgeries_test

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// continuation is an original that one program reads differently once the seal's increment is appended. In that
// program, signers see one text, and readers of the sealed file see another.
type continuation struct {
	name  string
	bytes func() []byte
	alone []effect // effects of the upload, which shows honestText
	later []effect // effects of the sealed file, which shows forgedText
}

func continuations() []continuation {
	// twice returns a draft that contains two objects with the number 5, of which only the first is listed.
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
		{"linearized-hints", func() []byte { return hinted(hintStream("", forgedHints)).bytes() }, inPoppler(honestText), inPoppler(forgedText)},
		// Programs add these numbers in 32 bits, so the sum wraps around.
		{"linearized-hints-wrap", func() []byte { return hinted(hintStream("", hintTables(1<<31, 0, 1<<31+7, 0))).bytes() }, inPoppler(honestText), inPoppler(forgedText)},
		{"linearized-hints-damaged", func() []byte {
			damaged := string(stored(forgedHints)) + "\x07" // an invalid block type
			return hinted(hintStream("/Filter/FlateDecode", damaged)).bytes()
		}, inPoppler(honestText), inPoppler(forgedText)},
		{"linearized-hints-predictor", func() []byte {
			// When Poppler restarts to find the second table, it continues in the same row.
			differences := []byte(forgedHints + strings.Repeat("\x00", 16) + forgedHints[hintHeader+3*4:])
			for i := len(differences) - 1; i > 0; i-- {
				differences[i] -= differences[i-1]
			}
			return hinted(hintStream(fmt.Sprintf("/Filter/FlateDecode/DecodeParms<</Predictor 2/Columns %d>>", len(differences)), string(stored(string(differences))))).bytes()
		}, inPoppler(honestText), inPoppler(forgedText)},
		{"linearized-hints-in-parts", func() []byte {
			l := hinted(hintStream("", honestHints))
			rest := forgedHints[hintHeader:] + "\nendstream\nendobj\n"
			l.objects[23] = streamOf("", rest)
			const begin = "stream\n"
			l.hints = func(place func(n int) (at, length int)) string {
				first, _ := place(21)
				second, _ := place(23)
				return fmt.Sprintf("%010d %d %010d %d", first, len("21 0 obj\n")+strings.Index(l.objects[21], begin)+len(begin)+hintHeader,
					second+len("23 0 obj\n")+strings.Index(l.objects[23], begin)+len(begin), len(rest))
			}
			return l.bytes()
		}, inPoppler(honestText), inPoppler(forgedText)},
		{"linearized-hints-at-another-page", func() []byte {
			l := hinted(hintStream("", forgedHints))
			l.objects[objPages] = "<</Type/Pages/Kids[1 0 R 4 0 R 10 0 R]/Count 3>>"
			l.entries += "/P 1"
			return l.bytes()
		}, inPoppler(honestText), inPoppler(forgedText)},
		// The length may equal the length of the sealed file, because a forger can repeat sealing until the file has
		// that length.
		{"linearized-for-more", func() []byte {
			return linearized{objects: map[int]string{objContent: textStream(forgedText)}, entries: "/H[1 1]/O 4/E 1/N 2/T 1", hidden: textStream(honestText), second: true, length: 60_000}.bytes()
		}, inPoppler(forgedText), nil},
	}
}

func replaceLast(b []byte, from, to string) []byte {
	at := bytes.LastIndex(b, []byte(from))
	return slices.Concat(b[:at], []byte(to), b[at+len(from):])
}

// TestOriginals_ReadDifferentlyOnceSealed_AreRejected checks that files that a program reads differently once they are
// sealed are rejected at upload.
func TestOriginals_ReadDifferentlyOnceSealed_AreRejected(t *testing.T) {
	t.Parallel()
	genuineFiles()
	for _, c := range slices.Concat(continuations(), freeingContinuations()) {
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
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, rejection.PDFAmbiguous, rejected.Code, rejected.Message)
		})
	}
}

// hintHeader is the number of bytes before the counts in a page offset hint table (F.4.1).
const hintHeader = 36

// hintTables returns a page offset hint table and a shared object hint table. For each page, they contain the number of
// objects beyond the minimum for any page. The first count is not used.
func hintTables(least uint32, more ...uint32) string {
	b := make([]byte, hintHeader)
	binary.BigEndian.PutUint32(b, least)
	b[9] = 32 // number of bits per count
	for _, n := range more {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	shared := make([]byte, 32)
	shared[11], shared[15] = 1, 1 // one group, which belongs to the first page
	return string(append(b, shared...))
}

// These hint tables belong to the file returned by hinted. According to both, the second page begins with object 1. The
// third page begins with object 10 according to the honest hints, and with object 8 according to the forged hints.
var (
	honestHints = hintTables(1, 0, 8, 0)
	forgedHints = hintTables(1, 0, 6, 0)
)

func hintStream(entries, data string) string {
	return streamOf(fmt.Sprintf("%s/S %d", entries, hintHeader+3*4), data)
}

// stored returns an unterminated stream of uncompressed zlib data.
func stored(data string) []byte {
	var b bytes.Buffer
	z := must(zlib.NewWriterLevel(&b, zlib.NoCompression))
	must(z.Write([]byte(data)))
	if err := z.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// hinted returns a file with three pages, whose objects are 4, 1 and 10. The last page has the forged text. Object 8,
// which is not in the page tree, has the honest text.
func hinted(hints string) linearized {
	return linearized{objects: map[int]string{
		objPages: "<</Type/Pages/Kids[4 0 R 1 0 R 10 0 R]/Count 3>>", objContent: textStream("First page"), objCatalog: pageOf(objText2, ""),
		8: strings.Replace(pageOf(9, ""), "/Parent 2 0 R", "", 1), 9: textStream(honestText), 10: pageOf(11, ""), 11: textStream(forgedText), 21: hints,
	}, entries: "/O 4/E 1/N 3/T 1", root: 22}
}

// TestHonestHints checks that a linearized file is admitted if its hint tables refer to its own pages. The page at
// which the file opens, and the number of parts of its hint tables, must have no effect.
func TestHonestHints(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(l *linearized){
		"first page": func(*linearized) {},
		"second page": func(l *linearized) {
			l.objects[objPages] = "<</Type/Pages/Kids[1 0 R 4 0 R 10 0 R]/Count 3>>"
			l.entries += "/P 1"
		},
		"third page": func(l *linearized) {
			l.objects[objPages] = "<</Type/Pages/Kids[1 0 R 10 0 R 4 0 R]/Count 3>>"
			l.entries += "/P 2"
		},
		"two parts": func(l *linearized) {
			l.objects[23] = streamOf("", "more")
			l.hints = func(place func(n int) (at, length int)) string {
				first, n := place(21)
				second, m := place(23)
				return fmt.Sprintf("%010d %d %010d %d", first, n, second, m)
			}
		},
		"compressed": func(l *linearized) { l.objects[21] = hintStream("/Filter[/FlateDecode]", string(stored(honestHints))) },
	} {
		l := hinted(hintStream("", honestHints))
		change(&l)
		admits(t, name, l.bytes())
	}
}

// TestHintsOfQPDF checks that files linearized by qpdf, which open at their first page or at another one, are
// admitted.
func TestHintsOfQPDF(t *testing.T) {
	t.Parallel()
	d := newDraft()
	d.objects[objPages] = "<</Type/Pages/Kids[4 0 R 6 0 R 8 0 R]/Count 3>>"
	d.objects[8], d.objects[9] = pageOf(9, ""), textStream("Third page")
	dir := t.TempDir()
	run(dir, "qpdf", "--linearize", "--object-streams=disable", saved(dir, d.bytes()), filepath.Join(dir, "out.pdf"))
	b := must(os.ReadFile(filepath.Join(dir, "out.pdf")))
	admits(t, "at the first page", b)
	kids := regexp.MustCompile(`/Kids \[ (\d+ 0 R) (\d+ 0 R) `)
	end := regexp.MustCompile(`(/T \d+ )>>\nendobj\n {8}`)
	require.Regexp(t, kids, string(b))
	require.Regexp(t, end, string(b))
	b = kids.ReplaceAll(b, []byte("/Kids [ $2 $1 "))
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	require.ErrorContains(t, err, "has pages that do not match its linearization dictionary")
	admits(t, "at the second page", end.ReplaceAll(b, []byte("${1}/P 1 >>\nendobj\n   ")))
}

// admits checks that a file is admitted, and that Poppler displays the same content after data is appended.
func admits(t *testing.T, name string, b []byte) {
	t.Helper()
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	require.NoError(t, err, name)
	dir := t.TempDir()
	alone := popplerText(dir, saved(dir, b))
	require.Contains(t, alone, "Second page", name)
	require.Equal(t, alone, popplerText(dir, saved(dir, append(bytes.Clone(b), '\n'))), name)
}

// TestHintsThatCannotBeRead checks that hint streams that the verifier cannot read are rejected, because other
// programs might interpret them.
func TestHintsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	short := honestHints[:hintHeader+11]
	wide := []byte(honestHints)
	wide[9] = 33
	for name, hints := range map[string]string{
		"no stream":               "<</S 48>>",
		"junk":                    hintStream("(junk)", honestHints),
		"another filter":          hintStream("/Filter/ASCIIHexDecode", fmt.Sprintf("%x>", honestHints)),
		"two filters":             hintStream("/Filter[/ASCIIHexDecode/FlateDecode]", fmt.Sprintf("%x>", stored(honestHints))),
		"parameters":              hintStream("/Filter/FlateDecode/DecodeParms<</Predictor 12 0 R>>", string(stored(honestHints))),
		"a filter in short":       hintStream("/F/ASCIIHexDecode", honestHints),
		"a key twice":             hintStream("/Length 9", honestHints),
		"a Length too large":      hintStream("", honestHints+strings.Repeat(" ", 99)) + strings.Repeat(" ", 400),
		"blanks in front":         strings.Replace(hintStream("", honestHints), "stream\n", "stream \n", 1),
		"too few counts":          hintStream("", short),
		"no header":               hintStream("", short[:9]),
		"counts of too many bits": hintStream("", string(wide)),
	} {
		l := hinted(hints)
		if name == "a Length too large" {
			l.hints = func(place func(n int) (at, length int)) string {
				first, _ := place(21)
				return fmt.Sprintf("%010d 100", first)
			}
		}
		b := l.bytes()
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		require.ErrorContains(t, err, "has hint tables that cannot be parsed", name)
	}
	for _, place := range []string{"0 100", "9 100000", "(a) 100", "%010d -1", "%010d (a)"} {
		l := hinted(hintStream("", honestHints))
		l.hints = func(at func(n int) (at, length int)) string {
			first, _ := at(21)
			return strings.Replace(place, "%010d", fmt.Sprintf("%010d", first), 1)
		}
		b := l.bytes()
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		require.ErrorContains(t, err, "has hint tables that cannot be parsed", place)
	}
}

// linearized describes the agreement with a linearization dictionary before all other objects (ISO 32000-2, Annex F).
type linearized struct {
	objects map[int]string // objects that are added to the agreement's objects or replace them
	entries string         // additional entries of the dictionary
	// hints returns the array H. Its parameter returns the position and length of an object. If hints is nil, H
	// refers to object 21, if it exists.
	hints  func(place func(n int) (at, length int)) string
	length int    // recorded length, or 0 for the actual length
	root   int    // number of the catalog, or 0 for 1
	hidden string // another object 5, which is listed by the section after the dictionary
	second bool   // startxref points to a different section
}

func (l linearized) bytes() []byte {
	objects := newDraft().objects
	l.root = cmp.Or(l.root, objCatalog)
	objects[l.root] = "<</Type/Catalog/Pages 2 0 R>>"
	maps.Copy(objects, l.objects)
	at, hidden, size := map[int]int{}, 0, 0
	place := func(n int) (int, int) { return at[n], len(fmt.Sprintf("%d 0 obj\n%s\nendobj\n", n, objects[n])) }
	if l.hints == nil && objects[21] != "" {
		l.hints = func(place func(n int) (at, length int)) string {
			first, n := place(21)
			return fmt.Sprintf("%010d %d", first, n)
		}
	}
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
	for range 2 { // in the second pass, all positions are known
		length := cmp.Or(l.length, size)
		entries := l.entries
		if l.hints != nil {
			entries += "/H[" + l.hints(place) + "]"
		}
		b = fmt.Appendf(nil, "%%PDF-1.6\n20 0 obj<</Linearized 1/L %010d%s>>endobj\n", length, entries)
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
