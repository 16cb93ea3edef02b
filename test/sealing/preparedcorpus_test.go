package sealing_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/manifest"
	"countersign/test/kit/sealkit"
)

// TestSealPreparedCorpus checks that files of other programs are sealed without their text tags and forms. Verification
// must reproduce the prepared file, and must fail if a byte of it is changed.
func TestSealPreparedCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../prepare/testdata/corpus/*.pdf")
	require.NoError(t, err)
	require.Greater(t, len(files), 8)
	originals := map[string][]byte{"shared form": sharedForm()}
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		originals[filepath.Base(name)] = b
	}
	opt := prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport}
	for name, original := range originals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(original), int64(len(original)), sha256.Sum256(original), admission.DefaultLimits(), opt)
			require.NoError(t, err)
			require.NotNil(t, rev)
			file := append(bytes.Clone(original), rev.Appended...)
			k := sealkit.NewFixture(t)
			_, b := sealkit.Sealed(t, k.Sealer(t), preparedJob(t, original, file, manifest.Prepared{
				As: manifest.Appended, Writer: rev.Writer, Options: opt, Changes: rev.Changes, Plan: &rev.Plan,
			}))
			r := sealkit.Verified(t, b, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
			require.True(t, r.Has("original.prepared"))
			for _, at := range []int{len(original) / 2, len(original) + 9, len(file) - 30, len(file) + 30} {
				changed := bytes.Clone(b)
				changed[at] ^= 1
				require.False(t, sealkit.Verified(t, changed, k.Trust()).OK(), "byte %d", at)
			}
		})
	}
}

// sharedForm returns a file with tags in three unusual places. A form XObject contains the continuation of a text tag
// on one page but not on another. An annotation contains a tag, and so does the alternative text of a structure
// element.
func sharedForm() []byte {
	stream := func(entries, s string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(s), s)
	}
	const fonts = "/Resources<</Font<</F1 5 0 R>>>>"
	return assembled(
		"<</Type/Catalog/Pages 2 0 R/StructTreeRoot<</Type/StructTreeRoot/K[<</S/P/P 1 0 R/Alt({{note}})>>]>>>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 7 0 R/Annots[9 0 R]>>", "<</Type/Page/Parent 2 0 R/Contents 8 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		stream("/Type/XObject/Subtype/Form/BBox[-9 -9 300 100]"+fonts, "BT /F1 12 Tf (a}} rest) Tj ET"),
		stream("", "BT /F1 12 Tf 72 700 Td (Sign {{) Tj ET q 1 0 0 1 109 700 cm /X Do Q"), stream("", "q 1 0 0 1 72 700 cm /X Do Q"),
		"<</Type/Annot/Subtype/FreeText/Rect[100 500 200 520]/DA(/F1 10 Tf)/Contents({{note}})/AP<</N 10 0 R>>>>",
		stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]"+fonts, "BT /F1 10 Tf 2 4 Td ({{note}}) Tj ET"),
	)
}

// TestAdmit_FaultsThatOtherReadersIgnore checks that a file is not rejected for faults that other programs ignore. It
// adds each fault to a file of another program, which must then be admitted, sealed and verified.
func TestAdmit_FaultsThatOtherReadersIgnore(t *testing.T) {
	t.Parallel()
	classic := func(t *testing.T, name string) []byte {
		out := filepath.Join(t.TempDir(), "classic.pdf")
		said, err := sealkit.Run(t, "qpdf", "--qdf", "--object-streams=disable", name, out)
		require.NoError(t, err, said)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		return b
	}
	// replaced replaces a string with another one that is padded with spaces to the same length, so that all offsets
	// remain valid.
	replaced := func(t *testing.T, b []byte, old, now string) []byte {
		require.LessOrEqual(t, len(now), len(old))
		require.Contains(t, string(b), old)
		return bytes.Replace(b, []byte(old), []byte(now+strings.Repeat(" ", len(old)-len(now))), 1)
	}
	for name, fault := range map[string]func(*testing.T, []byte) []byte{
		"an entry at offset 0 in use": func(t *testing.T, b []byte) []byte {
			return appendFaulty(t, b, "%d 1\n0000000000 00000 n \n")
		},
		"entries of 19 bytes": func(t *testing.T, b []byte) []byte {
			return appendFaulty(t, b, "%d 2\n0000000000 00000 f\n0000000000 00001 f\n")
		},
		"a surplus Q": func(t *testing.T, b []byte) []byte {
			return changedPDF(t, b, func(w *pdf.Increment, _ *pdf.Dict, page *pdf.Page, f *pdf.File) {
				contents, err := f.Contents(page.Dict)
				require.NoError(t, err)
				d := page.Dict.Clone()
				d.Set("Contents", pdf.JoinArray(append(contents, w.AddStream(nil, []byte("Q Q")).Value())))
				w.PutDict(page.Ref, d)
			})
		},
		"PageMode that is none": func(t *testing.T, b []byte) []byte { return inCatalog(t, b, "PageMode", "/UseNothing") },
		"associated files": func(t *testing.T, b []byte) []byte {
			return replaced(t, inCatalog(t, b, "AF", "[]"), "%PDF-1.", "%PDF-2.")
		},
		"no MediaBox": func(t *testing.T, b []byte) []byte {
			return changedPDF(t, b, func(w *pdf.Increment, _ *pdf.Dict, page *pdf.Page, _ *pdf.File) {
				d := page.Dict.Clone()
				d.Delete("MediaBox")
				d.Delete("CropBox")
				w.PutDict(page.Ref, d)
			})
		},
		"a form without DA": func(t *testing.T, b []byte) []byte {
			return inCatalog(t, b, "AcroForm", "<</Fields[]/NeedAppearances false>>")
		},
	} {
		for _, of := range []string{"libreoffice", "pdftex", "cairo", "ghostscript", "chromium"} {
			t.Run(name+", "+of, func(t *testing.T) {
				t.Parallel()
				b := fault(t, classic(t, "../../seal/testdata/corpus/"+of+".pdf"))
				file := filepath.Join(t.TempDir(), "in.pdf")
				require.NoError(t, os.WriteFile(file, b, 0o600))
				for _, reader := range [][]string{{"pdftotext", file, "-"}, {"mutool", "draw", "-q", "-F", "txt", file}} {
					out, err := sealkit.Run(t, reader[0], reader[1:]...)
					require.NoError(t, err, out)
				}
				_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
				require.NoError(t, err)
				k := sealkit.NewFixture(t)
				_, done := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, b))
				r := sealkit.Verified(t, done, k.Trust())
				require.True(t, r.OK(), sealkit.TextOf(t, r))
			})
		}
	}
}

// appendFaulty appends a cross-reference section with entries for objects that do not exist.
func appendFaulty(t *testing.T, b []byte, entries string) []byte {
	t.Helper()
	start := bytes.LastIndex(b, []byte("startxref\n"))
	require.Positive(t, start)
	var at, size, root int
	_, err := fmt.Sscanf(string(b[start:]), "startxref\n%d", &at)
	require.NoError(t, err)
	trailer := b[at:]
	i, j := bytes.Index(trailer, []byte("/Size ")), bytes.Index(trailer, []byte("/Root "))
	require.Positive(t, i)
	require.Positive(t, j)
	_, err = fmt.Sscanf(string(trailer[i:]), "/Size %d", &size)
	require.NoError(t, err)
	_, err = fmt.Sscanf(string(trailer[j:]), "/Root %d", &root)
	require.NoError(t, err)
	out := append(bytes.Clone(b), '\n')
	own := len(out)
	section := fmt.Sprintf(entries, size)
	return append(out, fmt.Sprintf("xref\n%strailer\n<</Size %d/Root %d 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", section, size+2, root, at, own)...)
}

// inCatalog appends a new version of the catalog with an additional entry.
func inCatalog(t *testing.T, b []byte, key, value string) []byte {
	t.Helper()
	return changedPDF(t, b, func(_ *pdf.Increment, catalog *pdf.Dict, _ *pdf.Page, _ *pdf.File) {
		catalog.Set(key, pdf.Value(value))
	})
}

// changedPDF appends an update that changes the catalog or the first page.
func changedPDF(t *testing.T, b []byte, change func(*pdf.Increment, *pdf.Dict, *pdf.Page, *pdf.File)) []byte {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	catalog, root, err := f.Catalog()
	require.NoError(t, err)
	w, err := pdf.NewIncrement(f)
	require.NoError(t, err)
	catalog = catalog.Clone()
	_, err = f.Walk(func(p *pdf.Page) error {
		if p.Index == 0 {
			change(w, &catalog, p, f)
		}
		return nil
	})
	require.NoError(t, err)
	w.PutDict(root, catalog)
	require.NoError(t, w.Finish(root, nil, make([]byte, 16)))
	return append(bytes.Clone(b), w.Bytes()...)
}
