package prepare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
)

// document returns a PDF with the given page contents. F1 is Helvetica. F2 uses UTF-16 character codes.
func document(t testing.TB, pages ...string) *pdf.File {
	t.Helper()
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniGB-UCS2-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/X/DW 500>>]>>",
		"<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Length 1>>\nstream\nx\nendstream",
	}
	var kids strings.Builder
	for _, content := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", len(objects)+1)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R>>", len(objects)+2),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 600 800]"+
		"/Resources<</Font<</F1 3 0 R/F2 4 0 R>>/XObject<</I 5 0 R>>>>>>", kids.String(), len(pages))
	return open(t, assemble(objects))
}

func open(t testing.TB, b []byte) *pdf.File {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	return f
}

// assemble returns a PDF with the given objects. The first object is the catalog.
func assemble(objects []string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var table strings.Builder
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, start)
	return b.Bytes()
}

const (
	pageOne = "BT /F1 10 Tf 100 700 Td (Sign here:) Tj 0 -100 Td (Sign here:) Tj ET"
	pageTwo = "BT /F1 10 Tf 100 500 Td (The ten-) Tj 0 -12 Td (ant, sign here:) Tj /F2 10 Tf 0 -100 Td <05DD05D505DC05E9> Tj ET"
)

// signHere is the width of "Sign here:" in Helvetica at 10 points.
const signHere = 10 * (.667 + .222 + .556 + .556 + .278 + .556 + .556 + .333 + .556 + .278)

func resolve(t *testing.T, a prepare.Anchor, pages ...string) ([]prepare.Position, error) {
	t.Helper()
	places, err := prepare.Resolve(t.Context(), document(t, pages...), []prepare.AnchoredField{{Anchor: a, W: 120, H: 20}})
	if err != nil {
		return nil, err
	}
	return places[0], nil
}

// TestResolve checks the position that results from each option of an anchor.
func TestResolve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		anchor prepare.Anchor
		want   []string // page, start and baseline of the text
	}{
		"first":       {prepare.Anchor{}, []string{"1 100 700"}},
		"last":        {prepare.Anchor{Match: prepare.Last}, []string{"1 100 600"}},
		"all":         {prepare.Anchor{Match: prepare.All}, []string{"1 100 700", "1 100 600"}},
		"second":      {prepare.Anchor{Match: 2}, []string{"1 100 600"}},
		"ignore case": {prepare.Anchor{Match: 3, IgnoreCase: true}, []string{"2 125.56 488"}},
		"shifted":     {prepare.Anchor{DX: 5, DY: 7}, []string{"1 105 693"}},
		"on a page":   {prepare.Anchor{Page: 1, Match: prepare.Last}, []string{"1 100 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.anchor
			a.Text = "Sign here:"
			places, err := resolve(t, a, pageOne, pageTwo)
			require.NoError(t, err)
			require.Len(t, places, len(c.want))
			for i, want := range c.want {
				var page int
				var x, baseline float64
				_, err := fmt.Sscan(want, &page, &x, &baseline)
				require.NoError(t, err)
				p := places[i]
				require.Equal(t, page, p.Page)
				require.InDelta(t, 120, p.W, 0)
				require.InDelta(t, 20, p.H, 0)
				if page == 1 {
					require.InDelta(t, x+signHere, p.X, 0.01)
				}
				require.InDelta(t, 800-baseline, p.Y+p.H/2, 5, "the center of the line must be near its baseline")
			}
		})
	}
}

// TestAt checks that a field is placed after, over or below the last line of its text.
func TestAt(t *testing.T) {
	t.Parallel()
	over, err := resolve(t, prepare.Anchor{Text: "Sign here:", At: prepare.Over}, pageOne)
	require.NoError(t, err)
	below, err := resolve(t, prepare.Anchor{Text: "Sign here:", At: prepare.Below}, pageOne)
	require.NoError(t, err)
	require.InDelta(t, 100, over[0].X, 0.01)
	require.InDelta(t, 100, below[0].X, 0.01)
	require.Less(t, over[0].Y, 100.0)
	require.Greater(t, below[0].Y, 100.0)
	require.Less(t, below[0].Y, 105.0)

	two, err := resolve(t, prepare.Anchor{Text: "The tenant, sign here:"}, pageOne, pageTwo)
	require.NoError(t, err)
	require.Equal(t, 2, two[0].Page)
	require.InDelta(t, 312, two[0].Y+10, 5, "the field must be after the second line")

	hebrew, err := resolve(t, prepare.Anchor{Text: "שלום"}, pageOne, pageTwo)
	require.NoError(t, err)
	require.InDelta(t, 100-120, hebrew[0].X, 0.01, "right-to-left text continues on the left")
}

// TestResolve_MissingText checks the errors for missing text, including the similar strings in them.
func TestResolve_MissingText(t *testing.T) {
	t.Parallel()
	scan := "q 600 0 0 800 0 0 cm /I Do Q"
	for name, c := range map[string]struct {
		anchor prepare.Anchor
		pages  []string
		want   string
	}{
		"similar":        {prepare.Anchor{Text: "sign HERE"}, []string{pageOne}, `the anchor text "sign HERE" was not found in the document; there is "Sign here:"`},
		"misspelt":       {prepare.Anchor{Text: "Sing here"}, []string{pageOne}, `there is "Sign here:"`},
		"nothing":        {prepare.Anchor{Text: "Xylophone"}, []string{pageOne}, `the anchor text "Xylophone" was not found in the document`},
		"other page":     {prepare.Anchor{Text: "Sign here:", Page: 2}, []string{pageOne, pageTwo}, "was not found on page 2; there is"},
		"too few":        {prepare.Anchor{Text: "Sign here:", Match: 3}, []string{pageOne}, "occurs only 2 times in the document"},
		"no such page":   {prepare.Anchor{Text: "Sign here:", Page: 3}, []string{pageOne}, "refers to page 3, but the document has 1 page(s)"},
		"scan":           {prepare.Anchor{Text: "Sign here:"}, []string{scan, scan}, "images without text (scans)"},
		"scan of a page": {prepare.Anchor{Text: "Sign here:", Page: 2}, []string{pageOne, scan}, "the page is an image without text (a scan)"},
		"empty page":     {prepare.Anchor{Text: "Sign here:"}, []string{""}, "was not found in the document"},
		"no text":        {prepare.Anchor{Text: " "}, []string{pageOne}, "anchor.text must not be empty"},
		"bad place":      {prepare.Anchor{Text: "x", At: "under"}, []string{pageOne}, "anchor.at must be"},
		"whole word":     {prepare.Anchor{Text: "ign", WholeWord: true}, []string{pageOne}, "was not found in the document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := resolve(t, c.anchor, c.pages...)
			require.ErrorContains(t, err, c.want)
			c.anchor.IfMissing = prepare.Skip
			if _, known := err.(*prepare.AnchorError); known { //nolint:errorlint // exactly this occurrence
				places, err := resolve(t, c.anchor, c.pages...)
				require.NoError(t, err)
				require.Empty(t, places)
			}
		})
	}
}

// TestTooMany checks that the number of fields that an anchor creates is limited.
func TestTooMany(t *testing.T) {
	t.Parallel()
	page := "BT /F1 1 Tf 1 TL 10 790 Td " + strings.Repeat("(a) Tj 5 0 Td ", 100) + "ET"
	pages := make([]string, 11)
	for i := range pages {
		pages[i] = page
	}
	_, err := resolve(t, prepare.Anchor{Text: "a", Match: prepare.All}, pages...)
	var rejected *prepare.AnchorError
	require.ErrorAs(t, err, &rejected)
	require.ErrorContains(t, err, "more than 1000 times in the document")
}

// TestAnchorJSON checks that "match" accepts only the defined names and numbers.
func TestAnchorJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]prepare.Occurrence{`"first"`: prepare.First, `"last"`: prepare.Last, `"all"`: prepare.All, "2": 2} {
		var a prepare.Anchor
		require.NoError(t, json.Unmarshal([]byte(`{"text":"x","match":`+in+`}`), &a))
		require.Equal(t, want, a.Match)
		b, err := json.Marshal(a)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"x","match":`+in+`}`, string(b))
	}
	for _, in := range []string{`"third"`, "0", "-1", "1.5", "10001", "[]"} {
		require.Error(t, json.Unmarshal([]byte(`{"match":`+in+`}`), &prepare.Anchor{}), in)
	}
}
