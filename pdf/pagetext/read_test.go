package pagetext_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"countersign/pdf/pagetext"
)

const toUnicode = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange " +
	"2 beginbfrange <0001> <001A> <0061> <0030> <0031> [<D83DDE00> <00660069>] endbfrange 1 beginbfchar <0040> <05D0> endbfchar endcmap end end"

// TestText checks that text is read correctly for each type of font and operator.
func TestText(t *testing.T) {
	t.Parallel()
	composite := map[int]string{
		6: "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 8 0 R>>",
		7: "<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 500/W[1[600 700] 3 9 550]>>",
		8: flow("", toUnicode),
	}
	predefined := func(name string) map[int]string {
		return map[int]string{
			6: "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/" + name + "/DescendantFonts[7 0 R]>>",
			7: "<</Type/Font/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(X)/Supplement 0>>>>",
		}
	}
	simple := func(encoding string) map[int]string {
		return map[int]string{6: "<</Type/Font/Subtype/Type1/BaseFont/ABCDEF+Own/FirstChar 0/Widths[" + strings.Repeat("500 ", 256) + "]" + encoding + ">>"}
	}
	for name, c := range map[string]struct {
		content string
		objects map[int]string
		want    []string
	}{
		"across operators":     {"BT /F1 12 Tf 72 700 Td (Si) Tj (gn) Tj ( here:) Tj ET", nil, []string{"Sign here:"}},
		"kerning":              {"BT /F1 12 Tf 72 700 Td [(S) 40 (i) -30 (gn) -400 (here) 20 (:)] TJ ET", nil, []string{"Sign here:"}},
		"text matrices":        {"BT /F1 1 Tf 12 0 0 12 72 700 Tm (Sign) Tj 12 0 0 12 98.5 700 Tm (here) Tj ET", nil, []string{"Sign here"}},
		"scaling and spacing":  {"BT /F1 12 Tf 50 Tz 1 Tc 72 700 Td (Sign) Tj 20 Tw ( here) Tj ET", nil, []string{"Sign here"}},
		"next lines":           {"BT /F1 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj (three) ' 1 0 (four) \" ET", nil, []string{"one two three four"}},
		"columns":              {"BT /F1 12 Tf 72 700 Td (left) Tj 200 0 Td (right) Tj -200 -14 Td (below) Tj ET", nil, []string{"left below", "right"}},
		"drawn in any order":   {"BT /F1 12 Tf 100 700 Td (here) Tj ET BT /F1 12 Tf 72 700 Td (Sign) Tj ET", nil, []string{"Sign here"}},
		"bold by drawn twice":  {"BT /F1 12 Tf 72 700 Td (Sign) Tj ET BT /F1 12 Tf 72.3 700 Td (Sign) Tj ET", nil, []string{"Sign"}},
		"escapes":              {"BT /F1 12 Tf 72 700 Td (\\101\\(b\\)\\\n\\344) Tj <53 69 67 6E> Tj ET", nil, []string{"A(b)äSign"}},
		"saved state":          {"q BT /F1 12 Tf 72 700 Td (a) Tj ET Q BT 72 650 Td (no font) Tj ET", nil, []string{"a"}},
		"font by form":         {"q 1 0 0 1 100 0 cm /X1 Do Q", map[int]string{10: flow("/Type/XObject/Subtype/Form/BBox[0 0 99 99]", "BT /F1 9 Tf 20 20 Td (inherited) Tj ET")}, []string{"inherited"}},
		"form with its fonts":  {"/X1 Do", map[int]string{10: flow("/Type/XObject/Subtype/Form/BBox[0 0 99 99]/Resources<</Font<</F1 5 0 R>>>>", "BT /F1 9 Tf 20 20 Td (own) Tj ET")}, []string{"own"}},
		"form in itself":       {"/X1 Do", map[int]string{10: flow("/Type/XObject/Subtype/Form/BBox[0 0 99 99]", "BT /F1 9 Tf 20 20 Td (once) Tj ET /X1 Do")}, []string{"once"}},
		"inline image":         {"q BI /W 1 /H 1 /BPC 8 /CS /G ID (Tj EI Q BT /F1 12 Tf 72 700 Td (after) Tj ET", nil, []string{"after"}},
		"Identity-H":           {"BT /F2 12 Tf 72 700 Td <00010002000300300031> Tj ET", composite, []string{"abc\U0001F600fi"}},
		"UTF-16":               {"BT /F2 12 Tf 72 700 Td <7B7E540D> Tj ET", predefined("UniGB-UCS2-H"), []string{"签名"}},
		"Shift JIS":            {"BT /F2 12 Tf 72 700 Td <8F9096BC41> Tj ET", predefined("90ms-RKSJ-H"), []string{"署名A"}},
		"GBK":                  {"BT /F2 12 Tf 72 700 Td <C7A9C3FB> Tj ET", predefined("GBK-EUC-H"), []string{"签名"}},
		"Big5":                 {"BT /F2 12 Tf 72 700 Td <C3B1A657> Tj ET", predefined("ETen-B5-H"), []string{"簽名"}},
		"EUC-KR":               {"BT /F2 12 Tf 72 700 Td <BCADB8ED> Tj ET", predefined("KSC-EUC-H"), []string{"서명"}},
		"JIS":                  {"BT /F2 12 Tf 72 700 Td <3D704C3E> Tj ET", predefined("H"), []string{"署名"}},
		"vertical":             {"BT /F2 12 Tf 72 700 Td <7B7E540D> Tj ET", predefined("UniGB-UTF16-V"), []string{"签名"}},
		"no ToUnicode":         {"BT /F2 12 Tf 72 700 Td <00010002> Tj ET", predefined("Identity-H"), []string{"\uFFFD\uFFFD"}},
		"Differences":          {"BT /F2 12 Tf 72 700 Td (\\001\\002\\003\\004\\005) Tj ET", simple("/Encoding<</Differences[1/fi/Aacute/uni4E2D/u1F600/f_f_i.alt]>>"), []string{"fiÁ中\U0001F600ffi"}},
		"standard encoding":    {"BT /F2 12 Tf 72 700 Td (a\\256\\341) Tj ET", simple(""), []string{"afiÆ"}},
		"Mac encoding":         {"BT /F2 12 Tf 72 700 Td (\\212) Tj ET", simple("/Encoding/MacRomanEncoding"), []string{"ä"}},
		"font program's codes": {"BT /F2 12 Tf 72 700 Td (AB) Tj ET", map[int]string{6: simple("/FontDescriptor 7 0 R")[6], 7: "<</Type/FontDescriptor/Flags 4/FontFile 8 0 R>>", 8: flow("", "%!PS\n/Encoding 256 array\ndup 65 /S put\ndup 66/ffi put\nreadonly def eexec")}, []string{"Sffi"}},
		"Type 3":               {"BT /F2 10 Tf 72 700 Td (ab) Tj ET", map[int]string{6: "<</Type/Font/Subtype/Type3/FontBBox[0 0 100 100]/FontMatrix[.01 0 0 .01 0 0]/FirstChar 97/Widths[60 60]/CharProcs<<>>/Encoding<</Differences[97/S/i]>>>>"}, []string{"Si"}},
		"right to left":        {"BT /F2 12 Tf 72 700 Td <05DD05D505DC05E9> Tj ET", predefined("UniGB-UCS2-H"), []string{"שלום"}},
		"numbers in it":        {"BT /F2 12 Tf 72 700 Td <0031003200200 5D105D0> Tj ET", predefined("UniGB-UCS2-H"), []string{"אב 12"}},
		"soft hyphen at end":   {"BT /F1 12 Tf 14 TL 72 700 Td (Unter\\255) Tj T* (schrift) Tj ET", nil, []string{"Unterschrift"}},
		"soft hyphen within":   {"BT /F1 12 Tf 72 700 Td (e\\255mail) Tj ET", nil, []string{"e-mail"}},
		"ActualText":           {"BT /F1 12 Tf 72 700 Td /Span <</ActualText (ffi)>> BDC (xx) Tj EMC (y) Tj ET", nil, []string{"ffiy"}},
		"ActualText, named":    {"BT /F1 12 Tf 72 700 Td /Span /P1 BDC (xx) Tj EMC ET", map[int]string{20: "<</ActualText<FEFF00530069>>>"}, []string{"Si"}},
		"outside the page":     {"BT /F1 12 Tf -500 700 Td (left) Tj 572 0 Td (in) Tj ET", nil, []string{"in"}},
		"hidden layer": {"/OC /P1 BDC BT /F1 12 Tf 72 700 Td (no) Tj ET EMC BT /F1 12 Tf 72 600 Td (yes) Tj ET", map[int]string{
			1: "<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[20 0 R]/D<</OFF[20 0 R]>>>>>>", 20: "<</Type/OCG/Name(x)>>",
		}, []string{"yes"}},
		"broken operators": {"BT /F1 12 Tf 72 700 Td ) } >> Tj (ok) Tj [(x) TJ", nil, []string{"ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := read(t, build("", c.content, c.objects))[0]
			for i := range c.want {
				c.want[i] = norm.NFKD.String(c.want[i])
			}
			require.Equal(t, c.want, passages(p))
			for _, g := range p.Glyphs {
				require.True(t, g.Box.W >= 0 && g.Box.H > 0, "%+v", g)
			}
		})
	}
}

// TestPosition checks that a glyph's position identifies its code in the decoded content.
func TestPosition(t *testing.T) {
	t.Parallel()
	content := "BT /F1 12 Tf 72 700 Td [(S\\151) 40 <676E>] TJ ET"
	p := read(t, build("", content, nil))[0]
	require.Len(t, p.Glyphs, 4)
	for i, want := range []struct {
		operand string
		code    int
	}{{"(S\\151)", 0}, {"(S\\151)", 1}, {"<676E>", 0}, {"<676E>", 1}} {
		at := p.Glyphs[i].Position
		require.Equal(t, want.operand, content[at.Start:at.Start+len(want.operand)])
		require.Equal(t, want.code, at.Code)
		require.Equal(t, 1, at.Length)
	}
}

// TestInvisible checks that text that is not painted is distinguished from painted text.
func TestInvisible(t *testing.T) {
	t.Parallel()
	p := read(t, build("", "BT /F1 12 Tf 72 700 Td 3 Tr (a) Tj 0 Tr (b) Tj ET", nil))[0]
	require.Equal(t, []bool{true, false}, []bool{p.Glyphs[0].Invisible, p.Glyphs[1].Invisible})
}

// TestLimits checks that content beyond the limits returns ErrLimit, and that a canceled call ends.
func TestLimits(t *testing.T) {
	t.Parallel()
	many := "BT /F1 12 Tf 72 700 Td 0 Tz " + strings.Repeat("("+strings.Repeat("a", 5000)+") Tj\n", 41) + "ET"
	_, err := readAll(t.Context(), build("", many, nil))
	require.ErrorIs(t, err, pagetext.ErrLimit)
	_, err = readAll(t.Context(), build("", strings.Repeat("q Q\n", 1_000_001), nil))
	require.ErrorIs(t, err, pagetext.ErrLimit)
	// Forms that each paint the next one twice would double the work at each level.
	forms := map[int]string{}
	for i := range 20 {
		forms[10+i] = flow("/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</A "+string(rune('0'+(11+i)/10))+string(rune('0'+(11+i)%10))+" 0 R>>>>", "/A Do /A Do")
	}
	_, err = readAll(t.Context(), build("", "/X1 Do", forms))
	require.ErrorIs(t, err, pagetext.ErrLimit)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = readAll(ctx, build("", strings.Repeat("q Q\n", 5000), nil))
	require.ErrorIs(t, err, context.Canceled)
}

// TestFind checks that text is found regardless of how it is composed.
func TestFind(t *testing.T) {
	t.Parallel()
	content := "BT /F1 12 Tf 14 TL 72 700 Td (Sign here: resign) Tj T* (Signature of the ten-) Tj T* (ant  caf\\351) Tj ET"
	p := read(t, build("", content, nil))[0]
	for _, c := range []struct {
		text  string
		o     pagetext.FindOptions
		count int
	}{
		{"Sign", pagetext.FindOptions{}, 2},
		{"sign", pagetext.FindOptions{}, 1},
		{"SIGN", pagetext.FindOptions{IgnoreCase: true}, 3},
		{"sign", pagetext.FindOptions{IgnoreCase: true, WholeWord: true}, 1},
		{"Sign  here:", pagetext.FindOptions{}, 1},
		{"the tenant café", pagetext.FindOptions{}, 1},
		{"cafe", pagetext.FindOptions{}, 0},
		{"cafe\u0301", pagetext.FindOptions{}, 1},
		{"resign Signature", pagetext.FindOptions{}, 1},
		{" \n", pagetext.FindOptions{}, 0},
	} {
		require.Len(t, p.Find(c.text, c.o), c.count, "%q", c.text)
	}
	m := p.Find("the tenant", pagetext.FindOptions{})[0]
	require.Len(t, m.Lines, 2)
	require.InDelta(t, 72, m.Lines[1].X, 0.1)
}

// FuzzPage checks that, for any content, reading terminates and boxes are valid numbers on the page.
func FuzzPage(f *testing.F) {
	for _, s := range []string{
		"BT /F1 12 Tf 72 700 Td (a) Tj ET", "[(a) -3 (b)] TJ", "BT /F2 1e9 Tf 9 0 0 9 9 9 Tm <41> Tj", "/X1 Do", "BI ID EI", "<</A[(]>> BDC",
		"BT /F2 12 Tf <0001" + hex.EncodeToString([]byte{byte(utf16.Encode([]rune("a"))[0])}) + "> Tj",
	} {
		f.Add(s, toUnicode)
	}
	f.Fuzz(func(t *testing.T, content, cmap string) {
		pages, err := readAll(t.Context(), build("", content, map[int]string{
			6: "<</Subtype/Type0/Encoding 8 0 R/DescendantFonts[<</DW 500>>]/ToUnicode 8 0 R>>", 8: flow("", cmap), 10: flow("/Subtype/Form", content),
		}))
		if err != nil {
			return
		}
		for _, p := range pages {
			for _, g := range p.Glyphs {
				if !(g.Box.W >= 0 && g.Box.H >= 0 && g.Box.X+g.Box.W >= 0 && g.Box.X <= p.Width) {
					t.Fatalf("%+v", g)
				}
			}
			for i, q := range p.Passages() {
				if i == 20 {
					break
				}
				if strings.ContainsRune(q.Text, '\uFFFD') { // U+FFFD represents unknown text
					continue
				}
				if len(p.Find(q.Text, pagetext.FindOptions{})) == 0 {
					t.Fatalf("the text %q was not found", q.Text)
				}
			}
		}
	})
}

// TestContentThatTakesLong checks that a small amount of content cannot cause a disproportionate amount of work.
func TestContentThatTakesLong(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	names := func(kind, value string) string { // a dictionary of one megabyte
		b := &strings.Builder{}
		for b.Len() < size {
			fmt.Fprintf(b, "/%s%d %s", kind, b.Len(), value)
		}
		return "<<" + b.String() + "/" + kind + " " + value + ">>"
	}
	spaces := &strings.Builder{}
	for i := range 1 << 16 {
		fmt.Fprintf(spaces, "<FF%06X><FF%06X>", i, i)
		if i%200 == 199 {
			spaces.WriteString("endcodespacerange\n")
		}
	}
	composite := "<</Subtype/Type0/Encoding 8 0 R/DescendantFonts[]>>"
	for name, tt := range map[string]struct{ content, resources, object string }{
		"strings that do not end":  {content: strings.Repeat("(", size)},
		"numbers that do not end":  {content: strings.Repeat("<a", size/2)},
		"arrays that do not end":   {content: strings.Repeat("[(", size/2)},
		"many fonts":               {content: strings.Repeat("/F 9 Tf ", 100_000), resources: "/Font" + names("F", "<<>>")},
		"a font with much data":    {content: strings.Repeat("/F 9 Tf ", 100_000), resources: "/Font<</F<</Data" + names("D", "0") + ">>>>"},
		"many pictures of many":    {content: strings.Repeat("/X Do ", 100_000), resources: "/XObject" + names("X", "7 0 R"), object: "<</Subtype/Image/Length 0>>\nstream\n\nendstream"},
		"a picture with much data": {content: strings.Repeat("/X Do ", 100_000), resources: "/XObject<</X 7 0 R>>", object: "<</Subtype/Image/Length 0/Data" + names("D", "0") + ">>\nstream\n\nendstream"},
		"many graphics states":     {content: strings.Repeat("/G gs ", 100_000), resources: "/ExtGState" + names("G", "7 0 R"), object: names("D", "0")},
		"a state's font of much":   {content: strings.Repeat("/G gs ", 100_000), resources: "/ExtGState<</G<</Font[<</Subtype/Type1/Data" + names("D", "0") + ">>9]>>>>"},
		"many property lists":      {content: strings.Repeat("/P/P BDC EMC ", 100_000), resources: "/Properties" + names("P", "7 0 R"), object: names("D", "0")},
		"codes in no codespace":    {content: "/F 9 Tf <" + strings.Repeat("00", 150_000) + "> Tj", resources: "/Font<</F 7 0 R>>", object: composite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			b := build("/Resources<<"+tt.resources+">>", tt.content, map[int]string{7: tt.object + " ", 8: flow("", spaces.String())})
			_, err := readAll(ctx, b)
			require.NoError(t, err)
			require.NoError(t, ctx.Err())
		})
	}
}
