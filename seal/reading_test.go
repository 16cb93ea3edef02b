package seal_test

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/appearance"
	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

func readingOf(j seal.Job, version string) seal.Reading {
	r := seal.Reading{
		Original: j.Original, Size: j.Size, OriginalSHA256: j.OriginalSHA256, PageCount: j.Document.PageCount, Values: j.Values,
		Names: map[string]string{}, Version: version,
	}
	for _, s := range j.Signers {
		r.Names[s.ID] = s.Name
	}
	return r
}

// TestReadingCopy_WithFoot_HasThePixelsOfTheSealedPage checks that the pages displayed before signing are identical to
// the sealed pages.
func TestReadingCopy_WithFoot_HasThePixelsOfTheSealedPage(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	field := []string{"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(Box)/DA(/F1 9 Tf 0 g)/MK<</BG[0.8 0.9 1]>>/F 4/Rect[100 150 300 250]>>"}
	for name, l := range map[string]sealkit.Layout{
		"plain":        {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}}},
		"turned":       {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Rotate 270" + sealkit.OwnResources}}},
		"no free foot": {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources, Content: "0 g 0 0 400 30 re f"}}},
		"on a form field": {
			Pages:   []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Annots[1000 0 R]" + sealkit.OwnResources}},
			Catalog: "/AcroForm<</Fields[1000 0 R]/DA(/F1 0 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>", Objects: field,
		},
		"second page": {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}, {Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}}},
	} {
		for _, facts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, facts known: %v", name, facts), func(t *testing.T) {
				t.Parallel()
				original := sealkit.ClassicPDF(l)
				j := sealkit.Job(t, original)
				page := len(l.Pages)
				j.Values = []seal.Value{
					{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: page, X: 120, Y: 60, W: 80, H: 40, PNG: sealkit.Marker(t)},
					{FieldID: "g", SignerID: sealkit.AdaID, Kind: seal.Text, Page: page, X: 210, Y: 60, W: 80, H: 20, Text: "999,999"},
				}
				if facts {
					f, err := pdf.Open(bytes.NewReader(original), int64(len(original)), pdf.DefaultLimits())
					require.NoError(t, err)
					j.Facts, err = seal.DryRun(t.Context(), f, bytes.NewReader(original), int64(len(original)), page)
					require.NoError(t, err)
				}
				path, _ := sealkit.Sealed(t, s, j)
				sealed, err := os.ReadFile(path)
				require.NoError(t, err)
				r := readingOf(j, "1")
				r.Page, r.Facts = page, j.Facts
				r.Foot = &seal.FootLine{Service: seal.ServiceName, EnvelopeID: j.Envelope.ID, UploadSHA256: j.OriginalSHA256, Language: j.Language}
				copied, err := seal.ReadingCopy(t.Context(), r)
				require.NoError(t, err)
				for _, level := range appearance.Levels {
					want, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(sealed), int64(len(sealed)), page, level)
					require.NoError(t, err)
					got, err := kit.Renderer{}.Page(t.Context(), copied, copied.Size(), page, level)
					require.NoError(t, err)
					require.Equal(t, want.Hash, got.Hash)
				}
				before, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(original), int64(len(original)), page, 2)
				require.NoError(t, err)
				after, err := kit.Renderer{}.Page(t.Context(), copied, copied.Size(), page, 2)
				require.NoError(t, err)
				require.NotEqual(t, before.Hash, after.Hash)
			})
		}
	}
}

// TestReadingCopyLooksAsSealed checks that two programs render the values in a reading copy in the same way as in the
// sealed document, and that the copy contains no other additions.
func TestReadingCopyLooksAsSealed(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	const look = "<</Type/XObject/Subtype/Form/BBox[0 0 200 100]/Length 60>>\nstream\n0.9 0.9 1 rg 0 0 200 100 re f 0 0 1 RG 4 w 0 0 200 100 re S  \nendstream"
	for name, l := range map[string]sealkit.Layout{
		"plain":               {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}}},
		"turned":              {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Rotate 90" + sealkit.OwnResources}}},
		"content left open":   {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources, Content: "q 0.5 0 0 0.5 7 9 cm q"}}},
		"under an annotation": {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Annots[1000 0 R]" + sealkit.OwnResources}}, Objects: []string{"<</Type/Annot/Subtype/Square/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>", look}},
		"one page of several": {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}, {Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := sealkit.ClassicPDF(l)
			j := sealkit.Job(t, original)
			j.Values = []seal.Value{
				{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 120, Y: 60, W: 80, H: 40, PNG: sealkit.Marker(t)},
				{FieldID: "g", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 210, Y: 60, W: 80, H: 20, Text: "999,999"},
				{FieldID: "h", SignerID: sealkit.AdaID, Kind: seal.Checkbox, Page: 1, X: 210, Y: 90, W: 20, H: 20, Checked: true},
			}
			file, _ := sealkit.Sealed(t, s, j)
			copied, err := seal.ReadingCopy(t.Context(), readingOf(j, "1"))
			require.NoError(t, err)
			b, err := io.ReadAll(copied)
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(b, original), "the original's bytes, followed by the additions")
			path := filepath.Join(t.TempDir(), "reading.pdf")
			require.NoError(t, os.WriteFile(path, b, 0o600))
			msg, err := sealkit.Run(t, "qpdf", "--check", path)
			require.NoError(t, err, msg)
			wanted := sealkit.Renderings(t, file, 1)
			for reader, img := range sealkit.Renderings(t, path, 1) {
				require.Positive(t, sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 }).Dx(), reader)
				foot := image.Rect(0, img.Bounds().Max.Y-14, img.Bounds().Max.X, img.Bounds().Max.Y)
				changed := sealkit.Different(wanted[reader], img)
				require.True(t, changed.In(foot), "%s: only the footer line may differ: %v", reader, changed)
			}
			words, err := sealkit.Run(t, "pdftotext", path, "-")
			require.NoError(t, err)
			require.Contains(t, words, "999,999")
			require.NotContains(t, words, "Sealed by")

			again, err := seal.ReadingCopy(t.Context(), readingOf(j, "1"))
			require.NoError(t, err)
			same, err := io.ReadAll(again)
			require.NoError(t, err)
			require.Equal(t, b, same, "repeated requests for parts of the copy must match")
		})
	}
}

// TestReadingCopy_WithoutValues_IsTheOriginal checks that the copy is the original if no values have been entered.
func TestReadingCopy_WithoutValues_IsTheOriginal(t *testing.T) {
	t.Parallel()
	original := sealkit.SimplePDF(1)
	j := sealkit.Job(t, original)
	j.Values = []seal.Value{{FieldID: "h", SignerID: sealkit.AdaID, Kind: seal.Checkbox, Page: 1, X: 10, Y: 10, W: 20, H: 20}}
	copied, err := seal.ReadingCopy(t.Context(), readingOf(j, "0"))
	require.NoError(t, err)
	b, err := io.ReadAll(copied)
	require.NoError(t, err)
	require.Equal(t, original, b)
}

// TestReadingCopy_DefinesUndefinedReferences checks that references in the original cannot resolve to the copy's
// additions, whether or not the facts about the original are known.
func TestReadingCopy_DefinesUndefinedReferences(t *testing.T) {
	t.Parallel()
	open, content := "", ""
	first := 0
	for range 2 { // the size is known in the second iteration
		open, content = "", ""
		for i := range 21 {
			open += fmt.Sprintf("/Z%d %d 0 R", i, first+i)
			content += fmt.Sprintf("q 1 0 0 1 0 -100 cm /Z%d Do Q ", i)
		}
		b := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Resources<</Font<</F1 3 0 R>>/XObject<<" + open + ">>>>", Content: content}}})
		f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
		require.NoError(t, err)
		size, _ := f.Trailer().Get("Size").Int()
		first = int(size)
	}
	original := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]/Resources<</Font<</F1 3 0 R>>/XObject<<" + open + ">>>>", Content: content}}})
	facts := sealkit.Admitted(t, original).Facts
	require.NotNil(t, facts)
	j := sealkit.Job(t, original)
	j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 120, Y: 60, W: 80, H: 40, PNG: sealkit.Marker(t)}}
	for _, known := range []*seal.Facts{facts, nil} {
		r := readingOf(j, "1")
		r.Facts = known
		copied, err := seal.ReadingCopy(t.Context(), r)
		require.NoError(t, err)
		b, err := io.ReadAll(copied)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "reading.pdf")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		for reader, img := range sealkit.Renderings(t, path, 1) {
			got := sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 })
			require.InDelta(t, 40*20, got.Dx()*got.Dy(), 130, "%s shows the signature once: %v", reader, got)
		}
	}
}
