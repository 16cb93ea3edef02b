package prepare_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/prepare/revision1"
)

func revision(t *testing.T, b []byte, opt prepare.Options) *prepare.Revision {
	t.Helper()
	r, err := prepare.Prepare(t.Context(), open(t, b), sha256.Sum256(b), opt)
	require.NoError(t, err)
	return r
}

// active returns a file with every kind of active content, both in separate objects and inside other objects.
func active() []byte {
	stream := func(s string) string { return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(s), s) }
	return assemble([]string{
		"<</Type/Catalog/Pages 2 0 R/OpenAction 6 0 R/AA<</WC<</S/JavaScript/JS(a)>>>>/AcroForm 10 0 R/Names<</JavaScript<</Names[(a)7 0 R(b)<</S/JavaScript/JS(b)>>]>>/Dests 12 0 R>>>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 8 0 R/Annots[9 0 R 11 0 R<</Type/Annot/Subtype/Link/Rect[9 9 50 50]/A<</S/Launch/F(x.exe)>>>>]/AA<</O 6 0 R>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 8 0 R/Annots[13 0 R]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</S/#4aavaScript/JS(app.alert\\(1\\))>>",
		"<</S/JavaScript/JS(c)>>",
		stream("BT /F1 12 Tf 72 700 Td (Text) Tj ET"),
		"<</Type/Annot/Subtype/Link/Rect[10 10 60 60]/A<</S/GoTo/D[4 0 R/Fit]/Next[<</S/SubmitForm/F(http://a.example)>><</S/GoTo/D[3 0 R/Fit]>>]>>>>",
		"<</Fields[11 0 R]/XFA[(a)(b)]>>",
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[100 500 200 520]/A<</S/ImportData/F(a.fdf)>>>>",
		"<<>>",
		"<</Type/Annot/Subtype/Link/Rect[10 10 60 60]/A<</S/URI/URI(https://a.example/JavaScript)>>>>",
	})
}

// TestPrepare_ResourcesNamedAA_AreKept checks that an image and a font named AA are kept, and that the page looks the
// same.
func TestPrepare_ResourcesNamedAA_AreKept(t *testing.T) {
	t.Parallel()
	stream := func(entries, s string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(s), s)
	}
	b := assemble([]string{
		"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(a)>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 200 200]>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</AA 5 0 R>>/Font<</AA 6 0 R>>>>/AA<</O<</S/Named/N/NextPage>>>>>>",
		stream("", "q 100 0 0 100 50 20 cm /AA Do Q BT /AA 24 Tf 20 150 Td (Text) Tj ET"),
		stream("/Type/XObject/Subtype/Image/Width 2/Height 2/BitsPerComponent 8/ColorSpace/DeviceGray", "\x10\x80\xa0\x20"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
	})
	r := revision(t, b, prepare.Options{})
	require.Equal(t, []prepare.Change{
		{Kind: revision1.ActionsRemoved, Page: 1, Count: 1, Detail: "page opened"}, {Kind: revision1.JavaScriptRemoved, Count: 1},
	}, r.Changes)
	sameRendering(t, b, append(bytes.Clone(b), r.Appended...))
}

// TestActiveContent checks that scripts and actions are removed and counted on their pages, and that links are kept.
func TestActiveContent(t *testing.T) {
	t.Parallel()
	b := active()
	r := revision(t, b, prepare.Options{})
	require.Equal(t, []prepare.Change{
		{Kind: revision1.ActionsRemoved, Count: 1, Detail: "document closed"},
		{Kind: revision1.ActionsRemoved, Page: 1, Count: 1, Detail: "page opened"},
		{Kind: revision1.ImportRemoved, Page: 1, Count: 1, Detail: "a.fdf"},
		{Kind: revision1.JavaScriptRemoved, Count: 3},
		{Kind: revision1.LaunchRemoved, Page: 1, Count: 1, Detail: "x.exe"},
		{Kind: revision1.SubmitRemoved, Page: 1, Count: 1, Detail: "http://a.example"},
		{Kind: revision1.XFARemoved, Count: 1},
	}, r.Changes)
	result := append(bytes.Clone(b), r.Appended...)
	f := open(t, result)
	require.NoError(t, f.Objects(func(o pdf.Object) error {
		return o.Value.Dicts(func(d pdf.Dict, _ string) error {
			require.Nil(t, d.Get("AA"), "object %d", o.Ref.Num)
			require.Nil(t, d.Get("XFA"))
			name, _ := d.Get("S").Name()
			require.NotContains(t, []string{"JavaScript", "Launch", "SubmitForm", "ImportData"}, name, "object %d", o.Ref.Num)
			return nil
		})
	}))
	o, err := f.Object(pdf.Ref{Num: 9})
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(o.Value, []byte("/GoTo")), "%s", o.Value)
	cat, _, err := f.Catalog()
	require.NoError(t, err)
	require.Contains(t, string(cat.Get("Names")), "/Dests")
	require.NotContains(t, string(cat.Get("Names")), "JavaScript")
	require.Empty(t, revision(t, result, prepare.Options{}).Appended, "no content remains to be removed")
	require.Empty(t, revision(t, b, prepare.Options{ActiveContent: prepare.ActiveReject}).Appended)
	sameRendering(t, b, result)
}

// TestNothingToPrepare checks that there is no revision for a document without content to remove.
func TestNothingToPrepare(t *testing.T) {
	t.Parallel()
	r := revision(t, assemble([]string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>", "<</Type/Page/Parent 2 0 R>>",
	}), prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport})
	require.Empty(t, r.Appended)
	require.Empty(t, r.Changes)
}

// TestFormImport checks that only the form and its widgets are removed, and that other annotations and the page's text
// stay.
func TestFormImport(t *testing.T) {
	t.Parallel()
	objects := everyKind()
	objects[2] = "<</Type/Page/Parent 2 0 R/Annots 18 0 R>>"
	for len(objects) < 17 {
		objects = append(objects, "null")
	}
	objects = append(objects[:17], "[5 0 R 19 0 R 6 0 R]", "<</Type/Annot/Subtype/Link/Rect[1 1 9 9]/A<</S/URI/URI(https://a.example)>>>>")
	b := assemble(objects)
	r := revision(t, b, prepare.Options{Form: prepare.FormImport, ActiveContent: prepare.ActiveReject})
	require.Equal(t, []prepare.Change{{Kind: revision1.FormImported, Page: 1, Count: 2}}, r.Changes)
	require.Len(t, r.Fields, 2)
	require.Equal(t, "name", r.Fields[0].Name)
	f := open(t, append(bytes.Clone(b), r.Appended...))
	cat, _, err := f.Catalog()
	require.NoError(t, err)
	require.Nil(t, cat.Get("AcroForm"))
	left, err := prepare.ReadForm(t.Context(), f)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = f.Walk(func(p *pdf.Page) error {
		require.Equal(t, "[19 0 R]", string(p.Dict.Get("Annots")))
		return nil
	})
	require.NoError(t, err)
}

// TestReplacementTexts checks that a tag's replacement text is removed from its structure element, and that other
// elements keep theirs.
func TestReplacementTexts(t *testing.T) {
	t.Parallel()
	content := "/P<</MCID 0/ActualText(Sign {{a}})>>BDC BT /F1 12 Tf 72 700 Td (Sign {{a}}) Tj ET EMC"
	b := assemble([]string{
		"<</Type/Catalog/Pages 2 0 R/StructTreeRoot 6 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R/StructParents 0>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
		"<</Type/StructTreeRoot/K[7 0 R 8 0 R]/ParentTree<</Nums[0[7 0 R]]>>>>",
		"<</Type/StructElem/S/P/P 6 0 R/K 0/Pg 3 0 R/Alt(Sign {{ a }})/ActualText<FEFF007B007B0061007D007D>>>",
		"<</Type/StructElem/S/P/P 6 0 R/Alt(A picture)>>",
	})
	r := revision(t, b, prepare.Options{Tags: prepare.TagsDetect})
	require.Equal(t, []int{7}, r.Plan.Texts)
	result := append(bytes.Clone(b), r.Appended...)
	f := open(t, result)
	o, err := f.Object(pdf.Ref{Num: 7})
	require.NoError(t, err)
	require.NotContains(t, string(o.Value), "Alt")
	require.NotContains(t, string(o.Value), "ActualText")
	o, err = f.Object(pdf.Ref{Num: 8})
	require.NoError(t, err)
	require.Contains(t, string(o.Value), "A picture")
	require.NotContains(t, string(r.Appended), "{{a}}")
}

// TestPrepare_EndsWithItsContext checks that Prepare stops when its context is canceled.
func TestPrepare_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := active()
	_, err := prepare.Prepare(ctx, open(t, b), sha256.Sum256(b), prepare.Options{Tags: prepare.TagsDetect})
	require.ErrorIs(t, err, context.Canceled)
}
