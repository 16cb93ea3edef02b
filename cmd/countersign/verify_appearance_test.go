package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // pages are PNG or JPEG
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

// TestVerifyAppearance_RenderingDifferences checks pages that other programs draw differently. The image that
// the command writes must have the hash that was recorded when the page was displayed to a signer, even if a value
// covers the text. The sealed page must show the value.
func TestVerifyAppearance_RenderingDifferences(t *testing.T) {
	t.Parallel()
	const fonts = "/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>"
	page := func(content, extra string, objects ...string) []byte {
		layout := sealkit.Layout{Pages: []sealkit.Page{{Extra: fonts + extra, Content: content}}, Objects: objects}
		if len(objects) > 0 && objects[0] == hiddenLayer {
			layout.Catalog = "/OCProperties<</OCGs[1000 0 R]/D<</OFF[1000 0 R]>>>>"
		}
		return sealkit.ClassicPDF(layout)
	}
	const layerInForm = "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Properties<</L 1000 0 R>>>>/Length 10>>\nstream\n/OC /L BDC\nendstream"
	const sum = "BT /F1 18 Tf 72 700 Td (100 euros) Tj ET "
	for name, b := range map[string][]byte{
		"no such font":                page(sum+"BT /FX 18 Tf 72 600 Td (900 euros) Tj ET", ">>"),
		"a mode that does not exist":  page(sum+"BT /F1 18 Tf 9 Tr 72 600 Td (900 euros) Tj ET", ">>"),
		"an image that ends twice":    page(sum+"q 300 0 0 99 0 600 cm BI /W 4 /H 1 /BPC 8 /CS /G ID AEI  EI Q", ">>"),
		"a form without an area":      page(sum+"/X0 Do", "/XObject<</X0 1000 0 R>>>>", "<</Type/XObject/Subtype/Form/BBox[0 0 0 0]/Length 20>>\nstream\n0 0 300 800 re f    \nendstream"),
		"an ink that is None":         page(sum+"/C0 cs 1 scn 0 0 300 800 re f", "/ColorSpace<</C0[/Separation/None/DeviceGray<</FunctionType 2/Domain[0 1]/N 1>>]>>>>"),
		"only for print":              page(sum, ">>/Annots[<</Type/Annot/Subtype/Square/F 36/Rect[0 0 300 800]/AP<</N 1000 0 R>>>>]", "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 10>>\nstream\n0 0 9 9 re f\nendstream"),
		"text replaced by ActualText": page("/Span<</ActualText(900 euros)>>BDC "+sum+"EMC", ">>"),
		"a layer that a form opens":   page(sum+"/X0 Do", "/XObject<</X0 1001 0 R>>>>", hiddenLayer, layerInForm),
		"and an invalid operator":     page(sum+"/X0 Do 1 1 rg", "/XObject<</X0 1001 0 R>>>>", hiddenLayer, layerInForm),
		"a layer of a layer":          page(sum+"/OC /L BDC 1 g 0 0 612 792 re f EMC", "/Properties<</L 1001 0 R>>>>", hiddenLayer, "<</Type/OCMD/OCGs[1002 0 R]>>", "<</Type/OCMD/OCGs[1000 0 R]>>"),
		"a form that restores more":   page(sum+"q 1 0 0 1 0 500 cm /X0 Do 1 g 0 0 612 792 re f Q", "/XObject<</X0 1000 0 R>>>>", "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Length 5>>\nstream\nQ Q q\nendstream"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(b), int64(len(b)), 1, 2)
			require.NoError(t, err)
			j := sealkit.Job(t, b)
			p := appearance.Current()
			record := manifest.Appearance{
				Profile: manifest.Profile{Number: p.Number, Module: p.Module, PDFium: p.PDFium, Runtime: p.Runtime, Fonts: p.Fonts, Memory: p.Memory, Flags: p.Flags},
				Pages:   []manifest.PagePicture{{Page: 1, Level: 2, SHA256: hex.EncodeToString(shown.Hash)}}, Texts: []manifest.PageText{},
				Signers: []manifest.SignerPages{
					{SignerID: sealkit.AdaID, Levels: []manifest.LevelPages{{Level: 2, Pages: [][2]int{{1, 1}}}}},
					{SignerID: sealkit.JomoID, Levels: []manifest.LevelPages{}},
				},
			}
			j.Appearance = &record
			j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.JomoID, Kind: seal.Text, Page: 1, X: 72, Y: 70, W: 200, H: 30, Text: "900 euros"}}
			k := sealkit.NewFixture(t)
			_, sealed := sealkit.Sealed(t, k.Sealer(t), j)
			finished, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(sealed), int64(len(sealed)), 1, 2)
			require.NoError(t, err)
			require.NotEqual(t, contentOf(t, shown, j.Values[0]), contentOf(t, finished, j.Values[0]), "the value must be visible")
			report := sealkit.Verified(t, sealed, k.Trust())
			require.True(t, report.OK(), sealkit.TextOf(t, report))
			require.Equal(t, []bool{true, false}, []bool{report.Record.Signers[0].PagesShown, report.Record.Signers[1].PagesShown})
			require.NotContains(t, sealkit.TextOf(t, report), fmt.Sprintf("did not show the pages to %q", report.Record.Signers[0].Name))
			require.Contains(t, sealkit.TextOf(t, report), fmt.Sprintf("This service did not show the pages to %q.", report.Record.Signers[1].Name))
			dir := filepath.Join(t.TempDir(), "pages")
			require.NoError(t, verifyAppearance(t.Context(), io.NewSectionReader(bytes.NewReader(sealed), 0, int64(len(sealed))), report, dir, true))
			written, err := os.ReadFile(filepath.Join(dir, "page-0001-level-2.png"))
			require.NoError(t, err)
			require.Equal(t, shown.Content, written)
			report.Record.Appearance.Pages[0].SHA256 = fmt.Sprintf("%064d", 1)
			require.ErrorIs(t, verifyAppearance(t.Context(), io.NewSectionReader(bytes.NewReader(sealed), 0, int64(len(sealed))), report, "", true), errAppearance)
		})
	}
}

// hiddenLayer is a layer that is switched off.
const hiddenLayer = "<</Type/OCG/Name(L)>>"

// contentOf returns the pixels of a page at level 2 within the area of a value.
func contentOf(t *testing.T, page *appearance.Encoded, v seal.Value) (colors []color.Color) {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(page.Content))
	require.NoError(t, err)
	for y := int(2 * v.Y); y < int(2*(v.Y+v.H)); y++ {
		for x := int(2 * v.X); x < int(2*(v.X+v.W)); x++ {
			colors = append(colors, img.At(x, y))
		}
	}
	return colors
}

// TestVerifyAppearance_OfFinishedPages checks that a page displayed before signing is compared with the sealed page,
// and that a different recorded hash is an error.
func TestVerifyAppearance_OfFinishedPages(t *testing.T) {
	t.Parallel()
	original := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources}}})
	j := sealkit.Job(t, original)
	j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.JomoID, Kind: seal.Text, Page: 1, X: 100, Y: 100, W: 200, H: 30, Text: "900 euros"}}
	p := appearance.Current()
	record := manifest.Appearance{
		Profile: manifest.Profile{Number: p.Number, Module: p.Module, PDFium: p.PDFium, Runtime: p.Runtime, Fonts: p.Fonts, Memory: p.Memory, Flags: p.Flags},
		Pages:   []manifest.PagePicture{}, Texts: []manifest.PageText{},
		Signers: []manifest.SignerPages{{SignerID: sealkit.AdaID, Levels: []manifest.LevelPages{}}, {SignerID: sealkit.JomoID, Levels: []manifest.LevelPages{}}},
	}
	j.Appearance = &record
	k := sealkit.NewFixture(t)
	_, sealed := sealkit.Sealed(t, k.Sealer(t), j)
	file := io.NewSectionReader(bytes.NewReader(sealed), 0, int64(len(sealed)))
	report := sealkit.Verified(t, sealed, k.Trust())
	require.True(t, report.OK(), sealkit.TextOf(t, report))
	shown, err := kit.Renderer{}.Page(t.Context(), file, file.Size(), 1, 2)
	require.NoError(t, err)
	report.Record.Appearance.Finished = []manifest.FinishedPage{{SignerID: sealkit.JomoID, DocumentID: report.Record.Document.ID, Page: 1, Level: 2, SHA256: hex.EncodeToString(shown.Hash)}}
	require.NoError(t, verifyAppearance(t.Context(), file, report, "", true))
	report.Record.Appearance.Finished[0].SHA256 = fmt.Sprintf("%064d", 1)
	require.ErrorIs(t, verifyAppearance(t.Context(), file, report, "", true), errAppearance)

	record.Finished = report.Record.Appearance.Finished // the audit trail does not contain their digest
	out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
	require.NoError(t, err)
	_, err = k.Sealer(t).Seal(t.Context(), out, j)
	require.ErrorContains(t, err, "the record lists pages displayed to a person who has not signed")
	require.NoError(t, out.Close())
}
