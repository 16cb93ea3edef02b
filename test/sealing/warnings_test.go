package sealing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/test/kit/sealkit"
)

// TestWarnings checks that content that programs may display differently results in a warning with the first occurrence
// and the number of occurrences.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const bare = "/MediaBox[0 0 612 792]/Resources<<>>"
	withPage := func(catalog, extra string, objects ...string) []byte {
		if !strings.Contains(extra, "/Contents") {
			extra += "/Contents null"
		}
		return sealkit.ClassicPDF(sealkit.Layout{Catalog: catalog, Pages: []sealkit.Page{{Extra: bare + extra}}, Objects: objects})
	}
	layer := func(use string) string { return "<</Type/OCG/Name(L)/Usage<<" + use + ">>>>" }
	config := func(d, use string) []byte {
		return withPage("/OCProperties<</OCGs[1000 0 R]/D<<"+d+">>>>", "", layer(use))
	}
	const layers = "/OCProperties<</OCGs[1000 0 R]/D<</AS[<</Event/Print/OCGs[1000 0 R]/Category[/Print]>>]>>>>"
	for name, tt := range map[string]struct {
		pdf   []byte
		code  string
		count int
		says  string
	}{
		// The count includes the warning that every test file causes.
		"fonts": {withPage("", "", "<</Type/Font/Subtype/TrueType/BaseFont/Arial>>"), admission.WarnFont, 2, "Helvetica"},
		"annotations": {withPage("", "/Annots[1000 0 R 1001 0 R 1002 0 R]",
			"<</Subtype/Square/Rect[0 0 9 9]>>", "<</Subtype/Link/Rect[0 0 9 9]>>", "<</Subtype/Square/F 2/Rect[0 0 9 9]>>"), admission.WarnAppearance, 1, "Square in object 1000"},
		"overprint":                         {withPage("", "", "<</Type/ExtGState/OP true>>"), admission.WarnOverprint, 1, "object 1000"},
		"actions":                           {withPage("", "/X<</S/SetOCGState/State[]>>", "<</S/H#69de/T(a)>>"), admission.WarnActions, 2, "SetOCGState in object 10"},
		"hybrid":                            {sealkit.HybridPDF(), admission.WarnHybrid, 1, "older programs"},
		"layers":                            {withPage(layers, "", layer("/View<</ViewState/ON>>/Print<</PrintState/OFF>>")), admission.WarnLayers, 1, "object 1000"},
		"layers without differences":        {withPage(layers, "", layer("/View<</ViewState/ON>>/Print<</PrintState/ON>>")), "", 0, ""},
		"a layer only for print":            {config("/OFF[1000 0 R]/AS[<</Event/Print/OCGs[1000 0 R]/Category[/Print]>>]", "/Print<</PrintState/ON>>"), admission.WarnLayers, 1, "object 1000 is OFF, and ON in the use Print"},
		"a layer for print, off by default": {config("/BaseState/OFF", "/Print<</PrintState/ON>>"), admission.WarnLayers, 1, "object 1000 is OFF, and ON in the use Print"},
		"a layer that is on as its usage specifies": {config("/BaseState/OFF/ON[1000 0 R]", "/Print<</PrintState/ON>>"), "", 0, ""},
		"a layer not for the screen":                {config("", "/View<</ViewState/OFF>>"), admission.WarnLayers, 1, "object 1000 is ON, and OFF in the use View"},
		"a layer at a magnification":                {config("/AS[<</Event/View/OCGs[1000 0 R]/Category[/Zoom]>>]", "/Zoom<</min 2>>"), admission.WarnLayers, 1, "zoom level"},
		"a magnification that is not requested":     {config("", "/Zoom<</min 2>>"), "", 0, ""},
		"a layer without usages":                    {config("/OFF[1000 0 R]", ""), "", 0, ""},
		"redrawn fields":                            {withPage("/AcroForm<</Fields[]/NeedAppearances true>>", ""), admission.WarnRedrawn, 1, "NeedAppearances"},
		"fields with their own appearances":         {withPage("/AcroForm<</Fields[]/NeedAppearances false>>", ""), "", 0, ""},
		"portfolio":                                 {withPage("/Collection<<>>", ""), admission.WarnPortfolio, 1, "portfolio"},
		"content that ends too early":               {withPage("", "/Contents 1000 0 R", "<</Filter/FlateDecode/Length 9>>\nstream\n123456789\nendstream"), "", 0, ""},
		"a structure element with an action type":   {withPage("", "", "<</Type/StructElem/S/Hide>>"), "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []admission.Warning
			for _, w := range sealkit.Admitted(t, tt.pdf).Warnings {
				if w.Code == tt.code || tt.code == "" && w.Code != admission.WarnFont {
					found = append(found, w)
				}
			}
			if tt.code == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, tt.count, found[0].Count)
			require.Contains(t, found[0].Detail, tt.says)
		})
	}
}
