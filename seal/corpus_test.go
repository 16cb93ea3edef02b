package seal_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/refusal"
)

// corpus returns PDFs of every structure that matters, by name.
func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	letter := "/MediaBox[0 0 612 792]"
	text := "BT /F1 24 Tf 72 700 Td (Agreement) Tj ET"
	c := map[string][]byte{
		"classic":      simplePDF(3),
		"no final EOL": classicPDF(layout{pages: []page{{extra: letter + ownResources}}, noFinalNL: true}),
		"inherited": classicPDF(layout{
			pages: []page{{}, {}}, tree: "/MediaBox[0 0 612 792]/Rotate 90/Resources<</Font<</F1 3 0 R>>>>",
		}),
		"indirect resources": classicPDF(layout{
			pages:   []page{{extra: letter + "/Resources 1000 0 R"}, {extra: letter + "/Resources 1000 0 R"}},
			objects: []string{"<</Font<</F1 3 0 R>>/XObject 1001 0 R>>", "<<>>"},
		}),
		"content array": classicPDF(layout{
			pages:   []page{{extra: letter + ownResources + "/Contents 1000 0 R"}, {extra: letter + ownResources + "/Contents[11 0 R 13 0 R]"}},
			objects: []string{"[11 0 R 13 0 R]"},
		}),
		"no content": classicPDF(layout{pages: []page{{extra: letter + "/Contents null"}}}),
		"annotations": classicPDF(layout{
			pages:   []page{{extra: letter + ownResources + "/Annots 1000 0 R"}},
			objects: []string{"[1001 0 R]", "<</Type/Annot/Subtype/Text/Rect[10 10 30 30]/Contents(Note)>>"},
		}),
		"form": classicPDF(layout{
			catalog: "/AcroForm 1000 0 R", pages: []page{{extra: letter + ownResources + "/Annots[1001 0 R]"}},
			objects: []string{
				"<</Fields[1001 0 R]/DA(/Helv 0 Tf 0 g)>>",
				"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada)/Rect[100 100 200 120]/F 4>>",
			},
		}),
		"placeholders in the file": classicPDF(layout{
			pages: []page{{extra: letter + ownResources, content: "% /ByteRange[0 " + strings.Repeat(" ", 35) + "]\n% /Contents<" + strings.Repeat("0", 9000) + ">\n" + text}},
		}),
		"misleading xref in a stream": classicPDF(layout{
			pages: []page{{extra: letter + ownResources, content: text + "\n% startxref\n% 5\n% %%EOF"}},
		}),
		"extra operators": classicPDF(layout{pages: []page{{extra: letter + ownResources, content: "q q 0.5 0 0 0.5 0 0 cm " + text + " Q"}}}),
		"named attachments": classicPDF(layout{
			catalog: "/Names<</EmbeddedFiles 1000 0 R>>/AF[1003 0 R]", pages: []page{{extra: letter + ownResources}},
			objects: []string{
				"<</Kids[1001 0 R 1002 0 R]>>",
				"<</Limits[(a)(a)]/Names[(a) 1003 0 R]>>",
				"<</Limits[(z)(z)]/Names[(z) 1003 0 R]>>",
				"<</Type/Filespec/F(a.txt)/UF(a.txt)/EF<</F 1004 0 R>>>>",
				"<</Type/EmbeddedFile/Length 5>>\nstream\nhello\nendstream",
			},
		}),
		"hybrid": hybridPDF(),
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(in, simplePDF(3), 0o600))
	tool := func(name, cmd string, args ...string) {
		out := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".pdf")
		for i := range args {
			args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "IN", in), "OUT", out)
		}
		msg, err := run(t, cmd, args...)
		require.NoError(t, err, "%s: %s", name, msg)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		c[name] = b
	}
	tool("xref stream", "qpdf", "--object-streams=generate", "IN", "OUT")
	tool("linearized", "qpdf", "--linearize", "--object-streams=disable", "IN", "OUT")
	tool("linearized streams", "qpdf", "--linearize", "--object-streams=generate", "IN", "OUT")
	html := filepath.Join(dir, "a.html")
	require.NoError(t, os.WriteFile(html, []byte("<h1>Agreement</h1><p>Some text."), 0o600))
	tool("chromium", "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir+"/profile",
		"--no-pdf-header-footer", "--print-to-pdf=OUT", html)
	tool("mupdf", "mutool", "clean", "-gg", "IN", "OUT")
	tool("cairo of poppler", "pdftocairo", "-pdf", "IN", "OUT")
	made, err := filepath.Glob("testdata/corpus/*.pdf") // by programs that need not be installed; see the README there
	require.NoError(t, err)
	require.Len(t, made, 9)
	for _, name := range made {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		c[filepath.Base(name)] = b
	}
	return c
}

// TestTagged: content added to a tagged original joins its structure tree, so that screen readers read it.
func TestTagged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	html, in := filepath.Join(dir, "a.html"), filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(html, []byte("<h1>Agreement</h1><p>Some text.<ul><li>One<li>Two"), 0o600))
	msg, err := run(t, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir+"/profile", "--export-tagged-pdf",
		"--no-pdf-header-footer", "--print-to-pdf="+in, html)
	require.NoError(t, err, msg)
	original, err := os.ReadFile(in)
	require.NoError(t, err)
	require.Contains(t, string(original), "/StructTreeRoot", "chromium writes tagged PDFs")
	k := newSealerFixture(t)
	file, b := sealed(t, k.sealer(t), job(t, original))
	checkIndependently(t, k, file, b)
	// The next key is above all used ones, for programs that add to the file (ISO 32000-2, table 354).
	added := b[len(original):]
	next := regexp.MustCompile(`/ParentTreeNextKey (\d+)`).FindSubmatch(added)
	require.NotNil(t, next)
	above, err := strconv.Atoi(string(next[1]))
	require.NoError(t, err)
	used := regexp.MustCompile(`/StructParents? (\d+)`).FindAllSubmatch(added, -1)
	require.NotEmpty(t, used)
	for _, m := range used {
		n, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		require.Less(t, n, above)
	}
	words, err := run(t, "pdfinfo", "-struct-text", file)
	require.NoError(t, err)
	require.NotContains(t, words, "Syntax")
	for _, want := range []string{"Some text.", "Ada Lovelace", "2026-11-21", "Certificate of completion"} {
		require.Contains(t, words, want)
	}
}

// hybridPDF has a table for old readers and a stream with the objects that they do not see (ISO 32000-2, 7.5.8.4): the
// font is in an object stream.
func hybridPDF() []byte {
	var b bytes.Buffer
	off := map[int]int{}
	obj := func(n int, body string) {
		off[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, body)
	}
	b.WriteString("%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
	obj(1, "<</Type/Catalog/Pages 2 0 R>>")
	obj(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	obj(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 6 0 R>>>>>>")
	content := "BT /F1 24 Tf 72 700 Td (Hybrid) Tj ET"
	obj(4, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	hidden := "6 0 <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	obj(5, fmt.Sprintf("<</Type/ObjStm/N 1/First 4/Length %d>>\nstream\n%s\nendstream", len(hidden), hidden))
	off[7] = b.Len()
	entry := []byte{2, 0, 5, 0} // object 6: in stream 5, index 0
	self := []byte{1, byte(off[7] >> 8), byte(off[7]), 0}
	fmt.Fprintf(&b, "7 0 obj\n<</Type/XRef/Size 8/W[1 2 1]/Index[6 2]/Root 1 0 R/Length %d>>\nstream\n", len(entry)+len(self))
	b.Write(entry)
	b.Write(self)
	b.WriteString("\nendstream\nendobj\n")
	at := b.Len()
	b.WriteString("xref\n0 8\n0000000000 65535 f \n")
	for n := 1; n <= 7; n++ {
		if n == 6 {
			b.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", off[n])
	}
	fmt.Fprintf(&b, "trailer\n<</Size 8/Root 1 0 R/XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", off[7], at)
	return b.Bytes()
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	s := k.sealer(t)
	for name, original := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := admission.Admit(t.Context(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
			require.NoError(t, err)
			j := job(t, original)
			file, b := sealed(t, s, j)
			require.True(t, bytes.HasPrefix(b, original), "the original's bytes are the prefix")
			require.Equal(t, xrefKind(t, original), xrefKind(t, b), "kind of cross-reference section")
			checkIndependently(t, k, file, b)
			r := verified(t, b, k.trust())
			require.True(t, r.OK(), textOf(t, r))
			_, err = admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			require.Equal(t, refusal.DocumentSigned, refusalCode(t, err))
			attached, err := admission.AdmitAttachment(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			require.NoError(t, err)
			require.Greater(t, len(attached.Pages), len(info.Pages))
			words, err := run(t, "pdftotext", file, "-")
			require.NoError(t, err)
			for _, want := range []string{"Ada Lovelace", "2026-11-21", "Certificate of completion", "李小龍", "محمد", envelopeID, "✓"} {
				require.Contains(t, words, want)
			}
		})
	}
}

// refusalCode returns the code of a refusal.
func refusalCode(t *testing.T, err error) string {
	t.Helper()
	var r *refusal.Error
	require.ErrorAs(t, err, &r)
	return r.Code
}

var startxref = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`)

// xrefKind distinguishes a table from a stream.
func xrefKind(t *testing.T, b []byte) string {
	t.Helper()
	m := startxref.FindSubmatch(b)
	require.NotNil(t, m)
	at, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	if bytes.HasPrefix(bytes.TrimLeft(b[at:], "\r\n "), []byte("xref")) {
		return "table"
	}
	return "stream"
}

var byteRange = regexp.MustCompile(`/ByteRange\[0 (\d+) (\d+) (\d+) *\]`)

// signatureOf finds the signature as a reader without our code would.
func signatureOf(t *testing.T, b []byte) (covered, der []byte) {
	t.Helper()
	all := byteRange.FindAllSubmatch(b, -1)
	require.NotEmpty(t, all)
	m := all[len(all)-1]
	var n [3]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(string(m[i+1]))
		require.NoError(t, err)
	}
	require.Equal(t, len(b), n[1]+n[2], "the range ends with the file")
	require.Equal(t, byte('<'), b[n[0]])
	require.Equal(t, byte('>'), b[n[1]-1])
	require.True(t, bytes.HasSuffix(b[:n[0]], []byte("/Contents")), "the gap is exactly /Contents")
	der, err := hex.DecodeString(string(b[n[0]+1 : n[1]-1]))
	require.NoError(t, err)
	der = trimPadding(t, der)
	return append(append([]byte(nil), b[:n[0]]...), b[n[1]:]...), der
}

// trimPadding cuts DER off after its own length; the rest must be zero.
func trimPadding(t *testing.T, b []byte) []byte {
	t.Helper()
	require.Equal(t, []byte{0x30, 0x82}, b[:2])
	n := int(b[2])<<8 + int(b[3]) + 4
	require.Empty(t, bytes.Trim(b[n:], "\x00"), "zero padding")
	return b[:n]
}

// checkIndependently lets other programs judge a sealed file.
func checkIndependently(t *testing.T, k sealerFixture, file string, b []byte) {
	t.Helper()
	out, err := run(t, "qpdf", "--check", file)
	require.NoError(t, err, out)
	require.NotContains(t, out, "WARNING")

	out, err = run(t, "pdfsig", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "Signature is Valid")
	require.Contains(t, out, "Total document signed")
	require.NotContains(t, out, "Not total")

	out, err = run(t, "mutool", "sign", "-v", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "document is unchanged since signing")

	covered, der := signatureOf(t, b)
	dir := t.TempDir()
	tbs, sig := filepath.Join(dir, "tbs.bin"), filepath.Join(dir, "sig.der")
	require.NoError(t, os.WriteFile(tbs, covered, 0o600))
	require.NoError(t, os.WriteFile(sig, der, 0o600))
	out, err = run(t, "openssl", "cms", "-verify", "-cades", "-binary", "-inform", "DER", "-in", sig, "-content", tbs,
		"-CAfile", k.caFile, "-purpose", "any", "-no_check_time", "-out", "/dev/null")
	require.NoError(t, err, out)
}
