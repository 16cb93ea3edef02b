package prepare_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
	"countersign/prepare/revision1"
)

func stream(entries, s string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(s), s)
}

// textOf returns the text found by pdftotext, with one line per page.
func textOf(t *testing.T, b []byte) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.pdf")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", name, "-").Output()
	require.NoError(t, err)
	pages := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
	for i := range pages {
		pages[i] = strings.Join(strings.Fields(pages[i]), " ")
	}
	return pages
}

// TestTagsInSharedForms checks that a tag is removed only from the uses of a form that show the tag, and that other
// uses still paint the unchanged form.
func TestTagsInSharedForms(t *testing.T) {
	t.Parallel()
	const helvetica, courier = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>", "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>"
	const own = "/Resources<</Font<</F1 5 0 R>>/XObject<</Y 8 0 R>>>>"
	for name, c := range map[string]struct {
		one, two         string // content of the pages
		form, inner      string
		entries          string // dictionary entries of both forms
		wantOne, wantTwo string
		clones           int
	}{
		"a part of the tag": {
			one: "BT /F1 12 Tf 72 700 Td (Sign {{) Tj ET q 1 0 0 1 109 700 cm /X Do Q", two: "q 1 0 0 1 72 700 cm /X Do Q",
			form: "BT /F1 12 Tf (a}} rest) Tj ET", entries: own, wantOne: "Sign rest", wantTwo: "a}} rest", clones: 1,
		},
		"both on a page": {
			one: "BT /F1 12 Tf 72 700 Td (Sign {{) Tj ET q 1 0 0 1 109 700 cm /X Do Q q 1 0 0 1 72 500 cm /X Do Q", two: "q 1 0 0 1 72 700 cm /X Do Q",
			form: "BT /F1 12 Tf (a}} rest) Tj ET", entries: own, wantOne: "Sign rest a}} rest", wantTwo: "a}} rest", clones: 1,
		},
		"in a form within": {
			one: "BT /F1 12 Tf 72 700 Td (Sign {{) Tj ET q 1 0 0 1 109 700 cm /X Do Q", two: "q 1 0 0 1 72 700 cm /X Do Q",
			form: "q /Y Do Q", inner: "BT /F1 12 Tf (a}} rest) Tj ET", entries: own, wantOne: "Sign rest", wantTwo: "a}} rest", clones: 2,
		},
		"in another font": {
			one: "q 1 0 0 1 72 700 cm /X Do Q", two: "q 1 0 0 1 72 700 cm /X Do Q",
			form: "BT /F1 12 Tf (Sign {{a}} rest) Tj ET", wantOne: "Sign rest", wantTwo: "Sign rest", clones: 2,
		},
		"for each use": {
			one: "q 1 0 0 1 72 700 cm /X Do Q", two: "q 1 0 0 1 72 700 cm /X Do Q q 1 0 0 1 72 500 cm /X Do Q",
			form: "BT /F1 12 Tf (Sign {{a}} rest) Tj ET", entries: own, wantOne: "Sign rest", wantTwo: "Sign rest Sign rest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := assemble([]string{
				"<</Type/Catalog/Pages 2 0 R>>",
				"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>/XObject<</X 7 0 R/Clone1 9 0 R>>>>>>",
				"<</Type/Page/Parent 2 0 R/Contents 9 0 R>>",
				"<</Type/Page/Parent 2 0 R/Contents 10 0 R/Resources<</Font<</F1 6 0 R>>/XObject<</X 7 0 R>>>>>>",
				helvetica, courier,
				stream("/Type/XObject/Subtype/Form/BBox[-9 -9 300 100]"+c.entries, c.form),
				stream("/Type/XObject/Subtype/Form/BBox[-9 -9 300 100]"+c.entries, c.inner),
				stream("", c.one), stream("", c.two),
			})
			r := revision(t, b, prepare.Options{Tags: prepare.TagsDetect})
			clones := 0
			for _, cut := range r.Plan.Cuts {
				if cut.Clone > 0 {
					clones++
				}
			}
			require.Equal(t, c.clones, clones, "%+v", r.Plan.Cuts)
			after := append(bytes.Clone(b), r.Appended...)
			require.Equal(t, []string{c.wantOne, c.wantTwo}, textOf(t, after))
			sameExceptTags(t, b, after, r.Tags)
		})
	}
}

// TestNestedFormWithoutResources checks that a tag is rejected if its removal requires a clone that cannot be named,
// because the form that would paint the clone has no resources.
func TestNestedFormWithoutResources(t *testing.T) {
	t.Parallel()
	b := assemble([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R/Y 7 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 8 0 R>>", "<</Type/Page/Parent 2 0 R/Contents 9 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		stream("/Type/XObject/Subtype/Form/BBox[-9 -9 300 100]", "/Y Do"),
		stream("/Type/XObject/Subtype/Form/BBox[-9 -9 300 100]", "BT /F1 12 Tf (a}} rest) Tj ET"),
		stream("", "BT /F1 12 Tf 72 700 Td (Sign {{) Tj ET q 1 0 0 1 109 700 cm /X Do Q"), stream("", "q 1 0 0 1 72 700 cm /X Do Q"),
	})
	_, err := prepare.Prepare(t.Context(), open(t, b), sha256.Sum256(b), prepare.Options{Tags: prepare.TagsDetect})
	var tag *prepare.TagError
	require.ErrorAs(t, err, &tag)
	require.Equal(t, "{{a}}", tag.Text)
	require.ErrorIs(t, err, revision1.ErrNoResources)
}

// annotated returns a page with an annotation as a direct or indirect object.
func annotated(annotation, appearance string, nested bool) []byte {
	annots := "7 0 R"
	if nested {
		annots = annotation
	}
	return assemble([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R/Annots[" + annots + "]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		stream("", "BT /F1 12 Tf 72 700 Td (Text) Tj ET"),
		stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Matrix[0 1 -1 0 20 0]/Resources<</Font<</F1 4 0 R>>>>", appearance),
		annotation,
	})
}

// TestTagsInAnnotations checks that a tag in an annotation's appearance is found at its displayed position, and is
// removed from the appearance and from the annotation's text.
func TestTagsInAnnotations(t *testing.T) {
	t.Parallel()
	const appearance = "BT /F1 10 Tf 2 4 Td (Sign {{a}} now) Tj ET"
	const entries = "<</Type/Annot/Subtype/FreeText/Rect[100 500 140 700]/DA(/F1 10 Tf)/AP<</N 6 0 R>>/Contents(Sign {{a}} now)/RC(<body><p>Sign {&#123;a}<b>} now</b></p></body>)>>"
	for _, nested := range []bool{false, true} {
		b := annotated(entries, appearance, nested)
		r := revision(t, b, prepare.Options{Tags: prepare.TagsDetect})
		require.Len(t, r.Tags, 1)
		// The appearance is rotated by 90 degrees and drawn at twice its size.
		box := r.Tags[0].Place
		require.InDelta(t, 121, box.X+box.W/2, 6)
		require.InDelta(t, 37.8, box.H, 0.1, "%+v", box)
		after := append(bytes.Clone(b), r.Appended...)
		require.NotContains(t, string(r.Appended), "{{a}}")
		require.NotContains(t, string(r.Appended), "/RC")
		require.NotContains(t, strings.Join(textOf(t, after), ""), "{")
		require.Contains(t, strings.Join(textOf(t, after), ""), "Text")
		sameExceptTags(t, b, after, r.Tags)
		require.Equal(t, []prepare.Change{{Kind: prepare.TagsRemoved, Page: 1, Count: 1}}, r.Changes)
	}
}

// TestAnnotationsWithoutTags checks that tags are not searched for in annotations that are not displayed or that
// belong to a form.
func TestAnnotationsWithoutTags(t *testing.T) {
	t.Parallel()
	const appearance = "BT /F1 10 Tf 2 4 Td ({{a}}) Tj ET"
	for name, entries := range map[string]string{
		"hidden":        "<</Subtype/FreeText/F 2/Rect[100 500 140 700]/AP<</N 6 0 R>>/Contents({{a}})>>",
		"no view":       "<</Subtype/FreeText/F 32/Rect[100 500 140 700]/AP<</N 6 0 R>>/Contents({{a}})>>",
		"popup":         "<</Subtype/Popup/Rect[100 500 140 700]/AP<</N 6 0 R>>/Contents({{a}})>>",
		"comment":       "<</Subtype/Text/Rect[100 500 140 700]/Contents(what is {{a}}?)>>",
		"another state": "<</Subtype/Stamp/Rect[100 500 140 700]/AS/Off/AP<</N<</On 6 0 R>>>>>>",
		"no size":       "<</Subtype/Stamp/Rect[100 500 100 500]/AP<</N 6 0 R>>>>",
	} {
		r := revision(t, annotated(entries, appearance, false), prepare.Options{Tags: prepare.TagsDetect})
		require.Empty(t, r.Tags, name)
		require.Empty(t, r.Appended, name)
	}
	b := annotated("<</Subtype/Stamp/Rect[100 500 140 700]/AS/On/AP<</N<</On 6 0 R>>>>>>", appearance, false)
	require.Len(t, revision(t, b, prepare.Options{Tags: prepare.TagsDetect}).Tags, 1)
}

// TestTags_ThatCannotBeRemoved checks that a tag is rejected if programs would draw it again after its removal, and that
// the error contains the tag's text and page.
func TestTags_ThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	undrawn := annotated("<</Subtype/FreeText/Rect[100 500 140 700]/DA(/F1 9 Tf)/Contents(Sign {{a}})>>", "", false)
	_, err := prepare.Prepare(t.Context(), open(t, undrawn), sha256.Sum256(undrawn), prepare.Options{Tags: prepare.TagsDetect})
	require.ErrorIs(t, err, prepare.ErrUndrawnTag)
	require.ErrorContains(t, err, `"{{a}}" on page 1`)

	filled := assemble(formObjects("", "<<"+at+"/FT/Tx/T(name)/V(Sign {{a}})>>"))
	_, err = prepare.Prepare(t.Context(), open(t, filled), sha256.Sum256(filled), prepare.Options{Tags: prepare.TagsDetect})
	require.ErrorIs(t, err, prepare.ErrFormTag)
	require.ErrorContains(t, err, `"{{a}}" on page 1`)
	r := revision(t, filled, prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport})
	require.Len(t, r.Fields, 1)
	require.Equal(t, "Sign {{a}}", r.Fields[0].Value)
}

// TestTagsInPropertyLists checks that a property list with a tag's text no longer applies to the tag, but still
// applies to other text. Layers, which contain no text, must stay unchanged.
func TestTagsInPropertyLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list, content, want string
		refused             bool
	}{
		"the tag":       {"<</MCID 3/ActualText({{a}})>>", "/Span/MC0 BDC BT /F1 12 Tf 72 700 Td ({{a}}) Tj ET EMC", "/Span<</MCID 3\n>> BDC", false},
		"other glyphs":  {"<</ActualText({{a}})>>", "/Span/MC0 BDC BT /F1 12 Tf 72 700 Td (xxxxx) Tj ET EMC", "/Span<<>> BDC", false},
		"used again":    {"<</ActualText(ffi)>>", "BT /F1 12 Tf 72 700 Td ({{o) Tj /Span/MC0 BDC (x) Tj EMC (cer}} ) Tj /Span/MC0 BDC (y) Tj EMC ET", "/Span<<>> BDC", false},
		"a layer":       {"<</Type/OCG/Name(x)>>", "/OC/MC0 BDC BT /F1 12 Tf 72 700 Td ({{a}}) Tj ET EMC", "/OC/MC0 BDC", false},
		"none":          {"null", "/Span/MC0 BDC BT /F1 12 Tf 72 700 Td ({{a}}) Tj ET EMC", "/Span/MC0 BDC", false},
		"refers to one": {"<</ActualText({{a}})/X 4 0 R>>", "/Span/MC0 BDC BT /F1 12 Tf 72 700 Td ({{a}}) Tj ET EMC", "", true},
	} {
		b := assemble([]string{
			"<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>/Properties<</MC0 6 0 R>>>>>>",
			"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
			"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
			stream("", c.content), c.list,
		})
		r, err := prepare.Prepare(t.Context(), open(t, b), sha256.Sum256(b), prepare.Options{Tags: prepare.TagsDetect})
		if c.refused {
			var tag *prepare.TagError
			require.ErrorAs(t, err, &tag, name)
			require.Equal(t, "{{a}}", tag.Text)
			require.Equal(t, 1, tag.Page)
			require.ErrorIs(t, err, pagetext.ErrReplacedText)
			continue
		}
		require.NoError(t, err, name)
		require.Contains(t, string(r.Appended), c.want, name)
		after := append(bytes.Clone(b), r.Appended...)
		text := strings.Join(textOf(t, after), "")
		require.NotContains(t, text, "{", name)
		if name == "used again" {
			places, err := prepare.Resolve(t.Context(), open(t, after), []prepare.AnchoredField{{Anchor: prepare.Anchor{Text: "ffi"}, W: 9, H: 9}})
			require.NoError(t, err)
			require.Len(t, places[0], 1)
		}
		sameExceptTags(t, b, after, r.Tags)
	}
}

// TestInlineReplacementTexts checks that a tag's text is removed from a structure element or property list inside
// another object, and that neighboring dictionaries keep their text.
func TestInlineReplacementTexts(t *testing.T) {
	t.Parallel()
	b := assemble([]string{
		"<</Type/Catalog/Pages 2 0 R/StructTreeRoot 6 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>/Properties<</A<</ActualText(keep)>>/B<</MCID 0/ActualText({{a}})>>>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		stream("", "/P/B BDC BT /F1 12 Tf 72 700 Td ({{a}}) Tj ET EMC"),
		"<</Type/StructTreeRoot/K[<</S/P/P 6 0 R/Alt(one)/K[<</S/Span/P 6 0 R/Alt({{a}})/K 0>><</S/Span/P 6 0 R/E(two)>>]>>7 0 R]>>",
		"[<</S/Span/P 6 0 R/ActualText(three)>><</S/Span/P 6 0 R/E({{a}})>>]",
	})
	r := revision(t, b, prepare.Options{Tags: prepare.TagsDetect})
	require.Equal(t, [][2]int{{2, 5}, {6, 2}, {7, 1}}, r.Plan.Inline)
	require.NotContains(t, string(r.Appended), "{{a}}")
	f := open(t, append(bytes.Clone(b), r.Appended...))
	var all strings.Builder
	require.NoError(t, f.Objects(func(o pdf.Object) error {
		all.Write(o.Value)
		return nil
	}))
	for _, text := range []string{"(keep)", "(one)", "(two)", "(three)"} {
		require.Contains(t, all.String(), text)
	}
	require.NotContains(t, all.String(), "{{a}}")
}
