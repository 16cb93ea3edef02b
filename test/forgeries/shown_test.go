package forgeries_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// disagreement is an original that programs display differently. If programs find different objects, it must be
// rejected. If they render the same objects differently, a warning is sufficient, because signers see the page images
// rendered by this service.
type disagreement struct {
	name  string
	bytes func() []byte
	warns string   // expected warning, or empty if it must be rejected
	shows []effect // displayed by programs that do not know this service
}

// disagreements returns originals for which some programs display the forged text next to the honest text or instead
// of it.
func disagreements() []disagreement {
	// of builds an original from objects and entries of the catalog.
	of := func(catalog string, objects map[int]string) func() []byte {
		return func() []byte {
			d := newDraft()
			d.catalog = catalog
			for n, o := range objects {
				d.objects[n] = o
			}
			return d.bytes()
		}
	}
	text := func(font, s string) string { return "BT " + font + " 72 600 Td (" + s + ") Tj ET" }
	page := func(contents, resources string) string {
		return "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>" + resources + ">>/Contents " + contents + ">>"
	}
	form := func(entries, operators string) string {
		return streamOf("/Type/XObject/Subtype/Form/BBox[0 0 612 792]"+entries, operators)
	}
	const fonts = "/Resources<</Font<</F1 3 0 R>>>>"
	layer := func(config, usage string) func() []byte {
		return of("/OCProperties<</OCGs[30 0 R]/D<<"+config+">>>>", map[int]string{
			30: "<</Type/OCG/Name(L)/Usage<<" + usage + ">>>>", objPage: page("5 0 R", "/Properties<</L 30 0 R>>"),
			objContent: streamOf("", "BT /F1 18 Tf 72 700 Td ("+honestText+") Tj ET /OC /L BDC "+text("/F1 18 Tf", forgedText)+" EMC"),
		})
	}
	duplicate := func(name string, objects map[int]string, key string) disagreement {
		return disagreement{name, of("", objects), "", []effect{
			contains("qpdf", func(dir, file string) string { return run(dir, "qpdf", "--check", file) }, fmt.Sprintf("dictionary has duplicated key /%s", key)),
		}}
	}
	hidden := streamOf("/Filter/ASCIIHexDecode/Filter[]", hex.EncodeToString([]byte(text("/F1 18 Tf", forgedText)))+">")
	stamp := map[int]string{
		objPage: pageOf(objContent, "/Annots[30 0 R]"), 30: "<</Type/Annot/Subtype/Stamp/Rect[0 0 612 792]/AP<</N 31 0 R>>/AP<</N 32 0 R>>>>",
		31: form(fonts, text("/F1 18 Tf", honestText)), 32: form(fonts, text("/F1 18 Tf", forgedText)),
	}
	field := map[int]string{
		objPage: pageOf(objContent, "/Annots[30 0 R]"), 31: streamOf("/Type/XObject/Subtype/Form/BBox[0 0 228 30]"+fonts, "BT /F1 12 Tf 5 10 Td (100 euros) Tj ET"),
		30: "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(900000 euros)/DA(/F1 12 Tf 0 g)/F 4/Rect[72 500 300 530]/AP<</N 31 0 R>>>>",
	}
	return []disagreement{
		duplicate("key-twice-in-stream", map[int]string{objContent: hidden}, "Filter"),
		duplicate("key-twice-in-font", map[int]string{objFont: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/BaseFont/Symbol>>"}, "BaseFont"),
		duplicate("key-twice-in-annotation", stamp, "AP"),
		{"layer-in-print-alone", layer("/OFF[30 0 R]/AS[<</Event/Print/Category[/Print]/OCGs[30 0 R]>>]", "/Print<</PrintState/ON>>"), admission.WarnLayers, []effect{
			popplerLacks(forgedText, honestText), mupdfLacks(forgedText, honestText), pdfjs(forgedText),
		}},
		{"layer-not-for-the-screen", layer("", "/View<</ViewState/OFF>>"), admission.WarnLayers, []effect{poppler(forgedText), mupdfLacks(forgedText, honestText)}},
		{"fields-drawn-anew", of("/AcroForm<</Fields[30 0 R]/NeedAppearances true/DA(/F1 12 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>", field), admission.WarnRedrawn, []effect{
			poppler("900000 euros"), mupdfLacks("900000 euros", honestText), pdfjs("900000 euros"),
		}},
	}
}

// TestDisagreements checks that files that programs display differently are rejected at upload or result in a
// warning.
func TestDisagreements(t *testing.T) {
	t.Parallel()
	for _, d := range disagreements() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := d.bytes()
			info, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			if d.warns == "" {
				var rejected *rejection.Error
				require.ErrorAs(t, err, &rejected)
				require.Equal(t, rejection.PDFAmbiguous, rejected.Code)
			} else {
				require.NoError(t, err)
				var codes []string
				for _, w := range info.Warnings {
					codes = append(codes, w.Code)
				}
				require.Contains(t, codes, d.warns)
			}
			require.NotEmpty(t, d.shows)
			for _, e := range d.shows {
				require.NoError(t, e.shown(t.TempDir(), nil, b), "%s of\n%s", e.reader, strings.ToValidUTF8(string(b), "?"))
			}
		})
	}
}
