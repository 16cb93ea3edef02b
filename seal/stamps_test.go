package seal_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// TestValuesAboveAnnotations checks that a value that would be covered by an annotation is drawn above it.
func TestValuesAboveAnnotations(t *testing.T) {
	t.Parallel()
	const look = "<</Type/XObject/Subtype/Form/BBox[0 0 200 100]/Length 60>>\nstream\n0.9 0.9 1 rg 0 0 200 100 re f 0 0 1 RG 4 w 0 0 200 100 re S  \nendstream"
	s := sealkit.NewFixture(t).Sealer(t)
	for name, tt := range map[string]struct {
		page, catalog, annotation string
	}{
		"form field":           {"/Annots[1000 0 R]", "/AcroForm<</Fields[1000 0 R]>>", "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>"},
		"field without looks":  {"/Annots[1000 0 R]", "/AcroForm<</Fields[1000 0 R]/NeedAppearances true/DA(/F1 0 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>", "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(Box)/DA(/F1 9 Tf 0 g)/MK<</BG[0.8 0.9 1]>>/F 4/Rect[100 150 300 250]>>"},
		"annotation":           {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Square/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>"},
		"annotation, rotated":  {"/Rotate 90/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Stamp/F 4/Rect[0 0 300 400]/AP<</N 1001 0 R>>>>"},
		"direct annotation":    {"/Annots[<</Type/Annot/Subtype/Stamp/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>]", "", "null"},
		"link with looks":      {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Link/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>"},
		"popup with looks":     {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Popup/F 4/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>"},
		"a long number":        {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Square/F 4/Rect[100 150 300 250." + strings.Repeat("0", 70) + "]/AP<</N 1001 0 R>>>>"},
		"a fifth number":       {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Square/F 4/Rect[100 150 300 250 0]/AP<</N 1001 0 R>>>>"},
		"user unit, turned":    {"/Rotate 270/UserUnit 1/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Stamp/F 4/Rect[0 0 400 300]/AP<</N 1001 0 R>>>>"},
		"not shown, not moved": {"/Annots 1002 0 R", "", "<</Type/Annot/Subtype/Square/F 2/Rect[100 150 300 250]/AP<</N 1001 0 R>>>>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := sealkit.ClassicPDF(sealkit.Layout{
				Catalog: tt.catalog, Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources + tt.page}},
				Objects: []string{tt.annotation, look, "[1000 0 R]"},
			})
			sealkit.Admitted(t, original)
			j := sealkit.Job(t, original)
			j.Values = []seal.Value{
				{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 120, Y: 60, W: 80, H: 40, PNG: sealkit.Marker(t)},
				{FieldID: "g", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 210, Y: 60, W: 80, H: 20, Text: "Lovelace"},
			}
			file, b := sealkit.Sealed(t, s, j)
			dir := t.TempDir()
			before := filepath.Join(dir, "before.pdf")
			require.NoError(t, os.WriteFile(before, original, 0o600))
			unsealed := sealkit.Renderings(t, before, 1)
			for reader, img := range sealkit.Renderings(t, file, 1) {
				got := sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 })
				require.InDelta(t, 40*20, got.Dx()*got.Dy(), 130, "%s must show the whole green quarter of the marker: %v", reader, got)
				changed := sealkit.Different(unsealed[reader], img)
				require.GreaterOrEqual(t, changed.Min.Y, 58, "%s: only the fields and the footer line may differ: %v", reader, changed)
			}
			words, err := sealkit.Run(t, "pdftotext", file, "-")
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(words, "Lovelace\n")-strings.Count(words, "Ada Lovelace\n"), "the name must occur exactly once as text: %s", words)
			if tt.catalog != "" {
				require.NotRegexp(t, `/Annots ?\[[^]]*1000 0 R`, string(b[len(original):]), "a stamp must be at the field's position")
			}
		})
	}
}

// TestUncleanContent checks that unbalanced page content, which restores too many graphics states or leaves some open,
// keeps its appearance and does not hide values.
func TestUncleanContent(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	const text = "BT /F1 24 Tf 20 200 Td (Agreement) Tj ET "
	broken := sealkit.Deflated([]byte(text + strings.Repeat("% comment\n", 1000)))
	broken = broken[:len(broken)/2]
	for name, tt := range map[string]struct{ content, extra string }{
		"Q too many at the end":    {content: "q 0.5 0 0 0.5 0 0 cm BT /F1 24 Tf 20 400 Td (Agreement) Tj ET Q Q"},
		"Q too many after a cm":    {content: "0.5 0 0 0.5 0 0 cm Q Q BT /F1 24 Tf 20 400 Td (Agreement) Tj ET q"},
		"Q too many and q":         {content: "q Q Q Q 1 0 0 rg 10 200 50 50 re f q q 0.5 0 0 0.5 0 0 cm"},
		"an open string":           {content: text + "("},
		"an open array":            {content: text + "[ 1 2"},
		"an open dictionary":       {content: text + "/X << /A"},
		"an open text object":      {content: "BT /F1 24 Tf 20 200 Td (Agreement) Tj"},
		"open marked content":      {content: text + "/OC /Hidden BDC"},
		"an inline image, no end":  {content: text + "BI /W 1 /H 1 /CS /G /BPC 8 ID x"},
		"a compressed stream, cut": {extra: "/Contents 1000 0 R"},
		"operands at the end":      {content: text + "1 2 3"},
		"unknown operators":        {content: text + "7 c8.734"},
		"too few operands":         {content: text + "7 m 8 9 l"},
		"stray delimiters":         {content: text + ") > }"},
		"states without end":       {content: text + "q 1 0 0 1 5000 0 cm " + strings.Repeat("q ", 4999)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := sealkit.Page{Extra: "/MediaBox[0 0 400 300]/Resources<</Font<</F1 3 0 R>>/Properties<</Hidden 1001 0 R>>>>" + tt.extra, Content: tt.content}
			original := sealkit.ClassicPDF(sealkit.Layout{
				Catalog: "/OCProperties<</OCGs[1001 0 R]/D<</OFF[1001 0 R]>>>>", Pages: []sealkit.Page{one},
				Objects: []string{
					fmt.Sprintf("<</Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", len(broken), broken),
					"<</Type/OCG/Name(Hidden)>>",
				},
			})
			sealkit.Admitted(t, original)
			j := sealkit.Job(t, original)
			j.Values = []seal.Value{
				{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 220, Y: 60, W: 80, H: 40, PNG: sealkit.Marker(t)},
				{FieldID: "g", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 220, Y: 120, W: 80, H: 20, Text: "Lovelace"},
			}
			file, _ := sealkit.Sealed(t, s, j)
			before := filepath.Join(t.TempDir(), "before.pdf")
			require.NoError(t, os.WriteFile(before, original, 0o600))
			unsealed := sealkit.Renderings(t, before, 1)
			for reader, img := range sealkit.Renderings(t, file, 1) {
				sealkit.Near(t, image.Rect(220, 60, 260, 80), sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 }))
				changed := sealkit.Different(unsealed[reader], img)
				require.GreaterOrEqual(t, changed.Min.X, 13, "%s: %v", reader, changed)
			}
			words, err := sealkit.Run(t, "pdftotext", file, "-")
			require.NoError(t, err)
			require.Contains(t, words, "Lovelace")
		})
	}
}

// TestHiddenTooDeep checks that an upload is rejected if the nesting depth of hidden content cannot be determined.
func TestHiddenTooDeep(t *testing.T) {
	t.Parallel()
	const fonts = "/Resources<</Font<</F1 3 0 R/F2 1002 0 R>>/XObject<</X 1001 0 R>>/Properties<</Hidden 1000 0 R>>>>"
	form := func(content string) string {
		return fmt.Sprintf("<</Subtype/Form/BBox[0 0 9 9]%s/Length %d>>\nstream\n%s\nendstream", fonts, len(content), content)
	}
	const none = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	hide := strings.Repeat("/OC /Hidden BDC ", 100)
	for name, tt := range map[string]struct{ content, form, font string }{
		"on the page":      {strings.Repeat(hide, 50), form(""), none},
		"in forms":         {strings.Repeat("/X Do ", 50), form(hide), none},
		"within itself":    {"/X Do", form("/OC /Hidden BDC /X Do"), none},
		"in a glyph":       {"BT /F2 9 Tf (a) Tj ET", form(""), "<</Type/Font/Subtype/Type3/CharProcs<</a 1003 0 R>>/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/FirstChar 97/LastChar 97/Widths[1]/Encoding<</Differences[97/a]>>>>"},
		"if it is content": {strings.Repeat(hide, 50) + " BI /W 1 /H 1 /BPC 8 /CS /G ID " + strings.Repeat("EMC ", 5000) + " EI", form(""), none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sealkit.ClassicPDF(sealkit.Layout{
				Catalog: "/OCProperties<</OCGs[1000 0 R]/D<</OFF[1000 0 R]>>>>", Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + fonts, Content: tt.content}},
				Objects: []string{"<</Type/OCG/Name(Hidden)>>", tt.form, tt.font, "<</Length 36>>\nstream\n1 0 0 0 1 1 d1 /OC /Hidden BDC       \nendstream"},
			})
			_, err := admission.Admit(t.Context(), strings.NewReader(string(b)), int64(len(b)), admission.DefaultLimits())
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, rejection.PDFTooComplex, rejected.Code, rejected.Message)
		})
	}
}

// TestTooManyAnnotations checks that an upload is rejected if a page has too many annotations to examine.
func TestTooManyAnnotations(t *testing.T) {
	t.Parallel()
	b := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources + "/Annots[" + strings.Repeat("null ", 20_001) + "]"}}})
	_, err := admission.Admit(t.Context(), strings.NewReader(string(b)), int64(len(b)), admission.DefaultLimits())
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFTooComplex, rejected.Code)
}

// TestDarkPages checks that dark ink has a light backing on a page that is or may be dark, and none on a light page.
func TestDarkPages(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	const all = " 0 0 400 300 re f "
	image1 := "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>\nstream\n\x00\nendstream"
	form := "<</Type/XObject/Subtype/Form/BBox[0 0 400 300]/Matrix[1 0 0 1 0 0]/Length 28>>\nstream\n0 0 0.2 rg 0 0 400 300 re f \nendstream"
	for name, tt := range map[string]struct {
		content string
		dark    bool
	}{
		"white":                   {"1 g" + all, false},
		"nothing":                 {"q Q", false},
		"black":                   {"0 g" + all, true},
		"the default colour":      {all, true},
		"dark blue":               {"0 0 0.4 rg" + all, true},
		"black ink":               {"0 0 0 1 k" + all, true},
		"light over dark":         {"0 g" + all + "0.9 g" + all, false},
		"a transparent light one": {"0 g" + all + "/G gs 0.9 g" + all, true},
		"dark over light":         {"1 g" + all + "q 2 0 0 2 0 0 cm 0.1 g 0 0 200 150 re f Q", true},
		"dark elsewhere":          {"0 g 0 250 400 50 re f", false},
		"a thin line":             {"0 g 0 190 400 1 re f", false},
		"a picture":               {"q 400 0 0 300 0 0 cm /I Do Q", true},
		"an inline picture":       {"q 400 0 0 300 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q", true},
		"a form":                  {"/F Do", true},
		"a clipped light one":     {"0 g" + all + "q 0 0 m 50 50 l 100 0 l W n 1 g" + all + "Q", true},
		"a polygon":               {"0 g 0 0 m 400 0 l 400 300 l 200 310 l 0 300 l f", true},
		"a polygon with a hole":   {"0 g 0 0 400 300 re 0 0 380 250 re f*", false},
		"a pattern":               {"/Pattern cs /P scn" + all, true},
		"clipped away":            {"q 0 0 10 10 re W n 0 g" + all + "Q", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := sealkit.ClassicPDF(sealkit.Layout{
				Pages: []sealkit.Page{{
					Extra:   "/MediaBox[0 0 400 300]/Resources<</Font<</F1 3 0 R>>/XObject<</I 1000 0 R/F 1001 0 R>>/ExtGState<</G<</ca 0.1>>>>>>",
					Content: tt.content,
				}},
				Objects: []string{image1, form},
			})
			sealkit.Admitted(t, original)
			j := sealkit.Job(t, original)
			j.Values = []seal.Value{{FieldID: "g", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 100, Y: 100, W: 120, H: 20, Text: "MMMMMMMMMM"}}
			file, b := sealkit.Sealed(t, s, j)
			require.Equal(t, tt.dark, strings.Contains(string(b[len(original):]), "/ca 0.75"))
			if name == "a pattern" {
				return // viewers draw an annotation without an appearance differently
			}
			for reader, img := range sealkit.Renderings(t, file, 1) {
				light, dark := 0, 0
				for y := 100; y < 120; y++ {
					for x := 100; x < 220; x++ {
						r, g, b, _ := img.At(x, y).RGBA()
						switch v := (30*r + 59*g + 11*b) / 100 >> 8; {
						case v > 160:
							light++
						case v < 80:
							dark++
						}
					}
				}
				require.Greater(t, light, 500, "%s: ground", reader)
				require.Greater(t, dark, 100, "%s: ink", reader)
			}
		})
	}
}

// TestAnnotationsThatTakeLong checks a file in which pages share a long list of annotations that all refer to one large
// object. The dry run must stop at the limit of bytes read from a file, or when its context is canceled.
func TestAnnotationsThatTakeLong(t *testing.T) {
	t.Parallel()
	one := sealkit.Page{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources + "/Annots 1000 0 R"}
	b := sealkit.ClassicPDF(sealkit.Layout{
		Pages:   []sealkit.Page{one, one},
		Objects: []string{"[" + strings.Repeat("1001 0 R ", 5000) + "]", "<</Type/Annot/Subtype/Square/X(" + strings.Repeat("x", 1000) + ")>>"},
	})
	dryRun := func(ctx context.Context, most int64) error {
		lim := pdf.DefaultLimits()
		lim.MaxParsed = most
		f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), lim)
		require.NoError(t, err)
		_, err = seal.DryRun(ctx, f, bytes.NewReader(b), int64(len(b)), 2)
		return err
	}
	require.NoError(t, dryRun(t.Context(), 20<<20))
	require.ErrorIs(t, dryRun(t.Context(), 5<<20), pdf.ErrLimit)
	require.ErrorIs(t, dryRun(&endsAfter{t.Context(), 1000}, 20<<20), context.Canceled)
}

// endsAfter is a context that is canceled after the remaining number of calls to Err.
type endsAfter struct {
	context.Context

	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
