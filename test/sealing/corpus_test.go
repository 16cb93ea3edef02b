package sealing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// corpus returns PDFs of every relevant structure by name.
func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	letter := "/MediaBox[0 0 612 792]"
	text := "BT /F1 24 Tf 72 700 Td (Agreement) Tj ET"
	c := map[string][]byte{
		"classic":      sealkit.SimplePDF(3),
		"no final EOL": sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources}}, NoFinalNL: true}),
		"inherited": sealkit.ClassicPDF(sealkit.Layout{
			Pages: []sealkit.Page{{}, {}}, Tree: "/MediaBox[0 0 612 792]/Rotate 90/Resources<</Font<</F1 3 0 R>>>>",
		}),
		"indirect resources": sealkit.ClassicPDF(sealkit.Layout{
			Pages:   []sealkit.Page{{Extra: letter + "/Resources 1000 0 R"}, {Extra: letter + "/Resources 1000 0 R"}},
			Objects: []string{"<</Font<</F1 3 0 R>>/XObject 1001 0 R>>", "<<>>"},
		}),
		"content array": sealkit.ClassicPDF(sealkit.Layout{
			Pages:   []sealkit.Page{{Extra: letter + sealkit.OwnResources + "/Contents 1000 0 R"}, {Extra: letter + sealkit.OwnResources + "/Contents[11 0 R 13 0 R]"}},
			Objects: []string{"[11 0 R 13 0 R]"},
		}),
		"no content": sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: letter + "/Contents null"}}}),
		"annotations": sealkit.ClassicPDF(sealkit.Layout{
			Pages:   []sealkit.Page{{Extra: letter + sealkit.OwnResources + "/Annots 1000 0 R"}},
			Objects: []string{"[1001 0 R]", "<</Type/Annot/Subtype/Text/Rect[10 10 30 30]/Contents(Note)>>"},
		}),
		"form": sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/AcroForm 1000 0 R", Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources + "/Annots[1001 0 R]"}},
			Objects: []string{
				"<</Fields[1001 0 R]/DA(/Helv 0 Tf 0 g)>>",
				"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada)/Rect[100 100 200 120]/F 4>>",
			},
		}),
		"placeholders in the file": sealkit.ClassicPDF(sealkit.Layout{
			Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources, Content: "% /ByteRange[0 " + strings.Repeat(" ", 35) + "]\n% /Contents<" + strings.Repeat("0", 9000) + ">\n" + text}},
		}),
		"misleading xref in a stream": sealkit.ClassicPDF(sealkit.Layout{
			Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources, Content: text + "\n% startxref\n% 5\n% %%EOF"}},
		}),
		"extra operators": sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources, Content: "q q 0.5 0 0 0.5 0 0 cm " + text + " Q"}}}),
		"named attachments": sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/Names<</EmbeddedFiles 1000 0 R>>/AF[1003 0 R]", Pages: []sealkit.Page{{Extra: letter + sealkit.OwnResources}},
			Objects: []string{
				"<</Kids[1001 0 R 1002 0 R]>>",
				"<</Limits[(a)(a)]/Names[(a) 1003 0 R]>>",
				"<</Limits[(z)(z)]/Names[(z) 1003 0 R]>>",
				"<</Type/Filespec/F(a.txt)/UF(a.txt)/EF<</F 1004 0 R>>>>",
				"<</Type/EmbeddedFile/Length 5>>\nstream\nhello\nendstream",
			},
		}),
		"hybrid": sealkit.HybridPDF(),
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(in, sealkit.SimplePDF(3), 0o600))
	tool := func(name, cmd string, args ...string) {
		out := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".pdf")
		for i := range args {
			args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "IN", in), "OUT", out)
		}
		msg, err := sealkit.Run(t, cmd, args...)
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
	// You do not need to install the programs that created these files. See the README in the directory of the files.
	made, err := filepath.Glob("../../seal/testdata/corpus/*.pdf")
	require.NoError(t, err)
	require.Len(t, made, 9)
	for _, name := range made {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		c[filepath.Base(name)] = b
	}
	return c
}

// TestTagged checks that content added to a tagged original is part of its structure tree, so that screen readers can
// read it.
func TestTagged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	html, in := filepath.Join(dir, "a.html"), filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(html, []byte("<h1>Agreement</h1><p>Some text.<ul><li>One<li>Two"), 0o600))
	msg, err := sealkit.Run(t, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir+"/profile", "--export-tagged-pdf",
		"--no-pdf-header-footer", "--print-to-pdf="+in, html)
	require.NoError(t, err, msg)
	original, err := os.ReadFile(in)
	require.NoError(t, err)
	require.Contains(t, string(original), "/StructTreeRoot", "Chromium must write tagged PDFs")
	k := sealkit.NewFixture(t)
	file, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, original))
	sealkit.CheckIndependently(t, k, file, b)
	// The next key must be higher than all used keys, for programs that extend the file later (ISO 32000-2, table 354).
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
	words, err := sealkit.Run(t, "pdfinfo", "-struct-text", file)
	require.NoError(t, err)
	require.NotContains(t, words, "Syntax")
	for _, want := range []string{"Some text.", "Ada Lovelace", "2026-11-21", "Certificate of completion"} {
		require.Contains(t, words, want)
	}
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	for name, original := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := admission.Admit(t.Context(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
			require.NoError(t, err)
			j := sealkit.Job(t, original)
			file, b := sealkit.Sealed(t, s, j)
			require.True(t, bytes.HasPrefix(b, original), "the file must begin with the original's bytes")
			require.Equal(t, xrefKind(t, original), xrefKind(t, b), "kind of cross-reference section")
			sealkit.CheckIndependently(t, k, file, b)
			r := sealkit.Verified(t, b, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
			_, err = admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			require.Equal(t, rejection.DocumentSigned, sealkit.RejectionCode(t, err))
			attached, err := admission.AdmitAttachment(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			require.NoError(t, err)
			require.Greater(t, len(attached.Pages), len(info.Pages))
			words, err := sealkit.Run(t, "pdftotext", file, "-")
			require.NoError(t, err)
			for _, want := range []string{"Ada Lovelace", "2026-11-21", "Certificate of completion", "李小龍", "محمد", sealkit.EnvelopeID, "✓"} {
				require.Contains(t, words, want)
			}
		})
	}
}

var startxref = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`)

// xrefKind reports whether the file has a cross-reference table or a stream.
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
