package sealing_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// stampPNG returns a dark picture on an opaque white background.
func stampPNG(t testing.TB) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for y := range 40 {
		for x := range 60 {
			c := color.NRGBA{255, 255, 255, 255}
			if (x/6+y/6)%2 == 0 {
				c = color.NRGBA{20, 30, 120, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// visibleValues returns one value for each way in which values are drawn. The page must be at least 300 points wide and
// 240 points high.
func visibleValues(t testing.TB) []seal.Value {
	t.Helper()
	values := []seal.Value{
		{FieldID: "text", Kind: seal.Text, X: 20, Y: 20, W: 100, H: 20, Text: "MMMM Lovelace"},
		{FieldID: "signature", Kind: seal.Signature, X: 20, Y: 60, W: 60, H: 40, PNG: stampPNG(t)},
		{FieldID: "date", Kind: seal.Date, X: 140, Y: 20, W: 100, H: 20, Text: "2026-11-21"},
		{FieldID: "check", Kind: seal.Checkbox, X: 140, Y: 60, W: 24, H: 24, Checked: true},
		{FieldID: "radio", Kind: seal.Radio, X: 200, Y: 60, W: 24, H: 24, Checked: true},
		{FieldID: "comb", Kind: seal.Text, X: 140, Y: 120, W: 100, H: 20, Cells: 5, Text: "AB12W"},
	}
	for i := range values {
		values[i].SignerID, values[i].Page = sealkit.AdaID, 1
	}
	return values
}

// newInk returns the number of changed pixels in a field.
func newInk(before, after image.Image, v seal.Value) int {
	n := 0
	for y := int(v.Y); y < int(v.Y+v.H); y++ {
		for x := int(v.X); x < int(v.X+v.W); x++ {
			r1, g1, b1, _ := before.At(x, y).RGBA()
			r2, g2, b2, _ := after.At(x, y).RGBA()
			const plainly = 0x3000
			if max(r1, r2)-min(r1, r2) > plainly || max(g1, g2)-min(g1, g2) > plainly || max(b1, b2)-min(b1, b2) > plainly {
				n++
			}
		}
	}
	return n
}

// hiddenValues seals an original, and returns the values that at least one PDF program does not display. If the
// original is rejected, it returns the reason.
func hiddenValues(t testing.TB, s *seal.Sealer, original []byte) (hidden []string, rejected string) {
	t.Helper()
	_, err := admission.Admit(t.Context(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
	var r *rejection.Error
	if errors.As(err, &r) {
		return nil, r.Message
	}
	require.NoError(t, err)
	j := sealkit.Job(t, original)
	j.Values = visibleValues(t)
	file, _ := sealkit.Sealed(t, s, j)
	before := filepath.Join(t.TempDir(), "before.pdf")
	require.NoError(t, os.WriteFile(before, original, 0o600))
	was, is := allRenderings(t, before, 1), allRenderings(t, file, 1)
	require.NotEmpty(t, was)
	for reader := range was {
		if is[reader] == nil {
			hidden = append(hidden, reader+" shows nothing any more")
			continue
		}
		for _, v := range j.Values {
			if n := newInk(was[reader], is[reader], v); n < 25 {
				hidden = append(hidden, fmt.Sprintf("%s shows %d pixels of %s", reader, n, v.FieldID))
			}
		}
	}
	words, err := sealkit.Run(t, "pdftotext", "-f", "1", "-l", "1", file, "-")
	require.NoError(t, err)
	for _, want := range []string{"Lovelace", "2026-11-21"} {
		if !strings.Contains(words, want) {
			hidden = append(hidden, "pdftotext does not find "+want)
		}
	}
	return hidden, ""
}

// TestValuesAreVisible checks originals with any content and annotations. Either the upload must be rejected, or each
// value must be visible at its position in four PDF programs and found as text.
func TestValuesAreVisible(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	sealedFiles, rejectedFiles := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		original := grammar{r, rapid.SampledFrom([]string{"", "", "", "/G2<</SMask<</S/Luminosity/G 1016 0 R>>>>"}).Draw(r, "mask")}.document()
		hidden, rejected := hiddenValues(t, s, original)
		if rejected != "" {
			rejectedFiles++
			return
		}
		sealedFiles++
		if len(hidden) > 0 {
			file := filepath.Join(t.ArtifactDir(), "hidden.pdf") // the smallest failing file is written last
			require.NoError(t, os.WriteFile(file, original, 0o600))
			r.Fatalf("%s: %s", file, strings.Join(hidden, "\n"))
		}
	})
	t.Logf("%d sealed, %d refused", sealedFiles, rejectedFiles)
	require.Positive(t, sealedFiles)
}

// TestContentThatHidesValues_IsRejected covers each known way in which page content can hide anything drawn after it.
func TestContentThatHidesValues_IsRejected(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	const mask = "/G2<</SMask<</S/Luminosity/G 1016 0 R>>>>"
	for name, tt := range map[string]struct {
		content, form, appearance, mask, refused string
	}{
		"a layer":                       {content: "/OC /Off BDC"},
		"a layer, and a string":         {content: "/OC /Off BDC ("},
		"a layer in a form":             {content: "/X0 Do", form: "/OC /Off BDC"},
		"the same, too few operands":    {content: "/X0 Do 1 1 rg", form: "/OC /Off BDC"},
		"a form painted often":          {content: strings.Repeat("/X0 Do ", 30), form: "/OC /Off BDC /OC /Off BDC"},
		"a form with Q and cm":          {content: "/X0 Do", form: "Q Q Q 1 0 0 1 5000 0 cm 0 0 1 1 re W n"},
		"both":                          {content: "q /X0 Do 1 0 0 1", form: "Q Q /OC /Off BDC 1 0 0 1 5000 0 cm"},
		"an annotation's appearance":    {appearance: "/OC /Off BDC"},
		"a layer behind an image":       {content: "BI /W 2 /H 2 /BPC 8 /CS /G ID aaaa EI /OC /Off BDC"},
		"an operator within a word":     {content: "1BDC /OC /Off BDCx"},
		"a mask, and a Q too many":      {content: "/G2 gs Q 0 0 m 9 9 l n", mask: mask, refused: "soft mask"},
		"a mask, and a Q in a form":     {content: "/G2 gs /X0 Do 0 0 m n", form: "Q Q Q Q", mask: mask, refused: "soft mask"},
		"a mask in an appearance":       {appearance: "/G2 gs Q Q Q 0 0 m n", mask: mask, refused: "soft mask"},
		"a mask that is left":           {content: "/G2 gs", mask: mask},
		"text in a form behind Q":       {content: "/X0 Do", form: "/F1 9 Tf Q Q (x) Tj", refused: "without a font"},
		"text behind a form with Q":     {content: "q /F1 9 Tf /X0 Do (x) Tj", form: "Q Q", refused: "without a font"},
		"text in another font":          {content: "q /F1 9 Tf /X0 Do /F1 9 Tf (x) Tj", form: "Q Q"},
		"text in an appearance":         {appearance: "/F1 9 Tf Q Q Q (x) Tj", refused: "without a font"},
		"a clip to nothing":             {content: "q 0 0 1 1 re W n 3 Tr 0 Tz /G0 gs"},
		"paths that are broken":         {content: "/OC /Off BDC " + strings.Repeat("1 l ", 30)},
		"content that cannot be opened": {content: "/OC /Off BDC /None Do /F9 gs /P9 sh zz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := grammar{mask: tt.mask}
			stream := func(dict, content string) string {
				return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(content)+1, content+" ")
			}
			form := "/Type/XObject/Subtype/Form/BBox[0 0 300 240]/Resources" + g.resources(1)
			objects := make([]string, 17)
			for i := range objects {
				objects[i] = "null"
			}
			objects[0], objects[1], objects[2] = "<</Type/OCG/Name(off)>>", "<</Type/OCG/Name(on)>>", "<</Type/OCMD/OCGs[1000 0 R 1001 0 R]/P/AllOn>>"
			objects[5], objects[10] = stream(form, tt.form), stream(form, tt.appearance)
			objects[16] = stream("/Type/XObject/Subtype/Form/BBox[0 0 300 240]/Group<</S/Transparency/CS/DeviceGray>>", "0.5 g 0 0 300 240 re f")
			original := sealkit.ClassicPDF(sealkit.Layout{
				Catalog: "/OCProperties<</OCGs[1000 0 R 1001 0 R]/D<</OFF[1000 0 R]>>>>",
				Pages: []sealkit.Page{{
					Extra:   "/MediaBox[0 0 300 240]/Resources" + g.resources(0) + "/Annots[<</Type/Annot/Subtype/Square/F 4/Rect[200 10 290 60]/AP<</N 1010 0 R>>>>]",
					Content: "BT /F1 18 Tf 10 20 Td (Ada pays 100 euros) Tj ET " + tt.content + " ",
				}},
				Objects: objects,
			})
			hidden, rejected := hiddenValues(t, s, original)
			require.Empty(t, hidden)
			if tt.refused != "" {
				require.Contains(t, rejected, tt.refused)
			} else {
				require.Empty(t, rejected)
			}
		})
	}
}

// TestPicturesLeaveTextReadable checks, in all PDF programs, that the white parts of an opaque picture do not change
// the page beneath, and that text remains visible under the other parts.
func TestPicturesLeaveTextReadable(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	original := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 300 240]" + sealkit.OwnResources, Content: "BT /F1 18 Tf 20 160 Td (MMMMM MMMMM) Tj ET"}}})
	before := filepath.Join(t.TempDir(), "before.pdf")
	require.NoError(t, os.WriteFile(before, original, 0o600))
	was := allRenderings(t, before, 1)
	filled := func(c color.NRGBA) []byte {
		img := image.NewNRGBA(image.Rect(0, 0, 280, 200))
		for i := range 280 * 200 {
			img.SetNRGBA(i%280, i/280, c)
		}
		img.SetNRGBA(0, 0, color.NRGBA{0, 0, 0, 255}) // so that it has more than one color
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	for name, ground := range map[string]color.NRGBA{"white": {255, 255, 255, 255}, "grey": {128, 128, 128, 255}, "black": {0, 0, 0, 255}, "half": {0, 0, 0, 200}} {
		for _, kind := range []seal.Kind{seal.Signature, seal.Initial, seal.Stamp} {
			j := sealkit.Job(t, original)
			j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: kind, Page: 1, X: 10, Y: 20, W: 280, H: 200, PNG: filled(ground)}}
			file, _ := sealkit.Sealed(t, s, j)
			is := allRenderings(t, file, 1)
			require.Len(t, is, len(readers))
			for reader, img := range is {
				letters, plainly := 0, 0
				for y := 64; y < 80; y++ {
					for x := 24; x < 150; x++ {
						if was[reader].RGBAAt(x, y).R > 40 {
							continue
						}
						// Compare a letter's stem with plain paper under the same picture.
						letters++
						if paper := img.RGBAAt(x, 50).R; paper > img.RGBAAt(x, y).R+80 {
							plainly++
						}
					}
				}
				require.Greater(t, letters, 100, reader)
				require.Equal(t, letters, plainly, "%s: %s on %s", reader, kind, name)
			}
		}
	}
}
