package appearance_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

func words(t *testing.T, b []byte) []appearance.Word {
	t.Helper()
	text, err := open(t, b).Text(1)
	require.NoError(t, err)
	return text.Words
}

func texts(words []appearance.Word) (out []string) {
	for _, w := range words {
		out = append(out, w.Text)
	}
	return out
}

func TestText_Words_HavePositions(t *testing.T) {
	t.Parallel()
	got := words(t, pdf("BT /F1 20 Tf 100 700 Td (Hello brave) Tj 0 -30 Td (world) Tj ET", letter+fontList(1), helvetica))
	require.Equal(t, []string{"Hello", "brave", "world"}, texts(got))
	assert.InDelta(t, 100, got[0].X, 1)
	assert.InDelta(t, 792-700, got[0].Y+got[0].H, 8)
	assert.InDelta(t, 45, got[0].W, 4)
	assert.Greater(t, got[1].X, got[0].X+got[0].W)
	assert.InDelta(t, 30, got[2].Y-got[0].Y, 1)
	assert.Equal(t, []int{1, 1, 2}, []int{got[0].Line, got[1].Line, got[2].Line})
	assert.Zero(t, got[0].Angle)
}

func TestText_RotatedPageAndText_HaveTheirAngle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page, matrix string
		angle        float64
	}{
		{"", "1 0 0 1", 0},
		{"/Rotate 90", "1 0 0 1", 90},
		{"/Rotate 180", "1 0 0 1", 180},
		{"/Rotate 270", "1 0 0 1", 270},
		{"", "0 1 -1 0", 270},
		{"/Rotate 90", "0 1 -1 0", 0},
		{"", "0.7071 0.7071 -0.7071 0.7071", 315},
		{"/UserUnit 3", "1 0 0 1", 0},
	} {
		got := words(t, pdf("BT /F1 20 Tf "+c.matrix+" 300 300 Tm (Word) Tj ET", letter+c.page+fontList(1), helvetica))
		require.Equal(t, []string{"Word"}, texts(got))
		assert.InDelta(t, c.angle, got[0].Angle, 0.05, c)
		upright := math.Mod(c.angle, 180) == 0
		if math.Mod(c.angle, 90) == 0 {
			assert.Equal(t, upright, got[0].W > got[0].H, c)
		}
	}
}

// hebrew is a font that is not embedded but has a ToUnicode map.
const hebrew = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>"

func TestText_RightToLeft_IsLogical(t *testing.T) {
	t.Parallel()
	toUnicode := stream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName/X def 1 begincodespacerange <00> <FF> endcodespacerange "+
		"8 beginbfchar <20> <0020> <28> <0028> <29> <0029> <61> <05D0> <62> <05D1> <63> <05D2> <78> <0078> <79> <0079> endbfchar endcmap end end")
	// The page shows gimel, bet and alef from left to right. The file contains them either in that order or in logical
	// order.
	for _, content := range []string{"100 700 Td (cba) Tj", "1 0 0 1 122 700 Tm (a) Tj 1 0 0 1 111 700 Tm (b) Tj 1 0 0 1 101 700 Tm (c) Tj"} {
		got := words(t, pdf("BT /F1 20 Tf "+content+" ET", letter+fontList(1), hebrew, toUnicode))
		require.Equal(t, []string{"אבג"}, texts(got))
	}
	// Brackets open on the left of the page and close on its right, in every line.
	for content, want := range map[string][]string{
		`x \(cba\) y`:             {"x", "(אבג)", "y"},
		`x x x \(cba bc\) y y`:    {"x", "x", "x", "(גב", "אבג)", "y", "y"},
		`\(cba\)`:                 {"(אבג)"},
		`cba \(x\) abc`:           {"גבא", "(x)", "אבג"},
		`abcabc \(cba\) abcabcab`: {"באגבאגבא", "(אבג)", "גבאגבא"},
	} {
		got := words(t, pdf("BT /F1 20 Tf 100 700 Td ("+content+") Tj ET", letter+fontList(1), hebrew, toUnicode))
		assert.Equal(t, want, texts(got), content)
	}
}

func TestText_VerticalWriting_IsOneWord(t *testing.T) {
	t.Parallel()
	got := words(t, pdf("BT /F1 20 Tf 300 700 Td <65e5672c8a9e> Tj ET", letter+fontList(1), cid("UniJIS-UCS2-V", "Japan1")))
	require.Equal(t, []string{"日本語"}, texts(got))
	assert.InDelta(t, 20, got[0].W, 1)
	assert.InDelta(t, 60, got[0].H, 1)
}

func TestText_TooManyCharacters_IsTruncated(t *testing.T) {
	t.Parallel()
	text, err := open(t, pdf("BT /F1 1 Tf 1 TL 10 780 Td "+strings.Repeat("("+strings.Repeat("abc ", 500)+") ' ", 120)+"ET", letter+fontList(1), helvetica)).Text(1)
	require.NoError(t, err)
	assert.True(t, text.Truncated)
	assert.NotEmpty(t, text.Words)
	b, sum, err := text.Encode()
	require.NoError(t, err)
	assert.Less(t, len(b), 16<<20)
	assert.NotZero(t, sum)
}

func TestMissingGlyphs_OfFontsThatAreNotEmbedded(t *testing.T) {
	t.Parallel()
	missing := func(content string, objects ...string) string {
		found, err := open(t, pdf(content, letter+fontList(len(objects)), objects...)).MissingGlyphs(1)
		require.NoError(t, err)
		var s strings.Builder
		for _, g := range found {
			assert.Equal(t, 1, g.Page)
			s.WriteRune(g.Character)
		}
		return s.String()
	}
	const greek = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Type/Encoding/Differences[97/alpha/afii10017/c]>>>>"
	assert.Equal(t, "αА", missing("BT /F1 20 Tf 100 700 Td (abca) Tj ET", greek))
	assert.Empty(t, missing("BT /F1 20 Tf 100 700 Td (Hello world) Tj /F2 20 Tf <65e5672c8a9e> Tj ET", helvetica, cid("UniJIS-UCS2-H", "Japan1")))
	found, err := open(t, textPage()).MissingGlyphs(1)
	require.NoError(t, err)
	assert.Empty(t, found)
}

// TestText_TurnedAndVertical_HaveWordsAndLines checks the words and lines of rotated and vertical text, in which PDFium
// returns a line for each character.
func TestText_TurnedAndVertical_HaveWordsAndLines(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	for i, r := range "down the page" { // position each character separately
		fmt.Fprintf(&content, "0 -1 1 0 300 %d Tm (%c) Tj ", 700-11*i, r)
	}
	got := words(t, pdf("BT /F1 20 Tf "+content.String()+"ET", letter+fontList(1), "<</Type/Font/Subtype/Type1/BaseFont/Courier>>"))
	require.Equal(t, []string{"down", "the", "page"}, texts(got))
	assert.Equal(t, []int{1, 1, 1}, []int{got[0].Line, got[1].Line, got[2].Line})
	assert.InDelta(t, 90, got[0].Angle, 0.05)

	column := "1 0 0 1 300 700 Tm <65e5> Tj 1 0 0 1 300 680 Tm <672c> Tj 1 0 0 1 300 660 Tm <8a9e> Tj 1 0 0 1 260 700 Tm <65e5> Tj 1 0 0 1 260 680 Tm <672c> Tj"
	got = words(t, pdf("BT /F1 20 Tf "+column+" ET", letter+fontList(1), cid("UniJIS-UCS2-H", "Japan1")))
	require.Equal(t, []string{"日本語", "日本"}, texts(got))
	assert.Less(t, got[0].Line, got[1].Line)
}

// TestText_PinnedPages_KeepTheirHashes checks the hashes of texts, which seal.json records and "countersign verify
// --appearance" computes again. If a hash changes, the texts of sealed documents no longer match their records, so the
// change requires a new profile.
func TestText_PinnedPages_KeepTheirHashes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page []byte
		want string
	}{
		"form":    {read(t, filepath.Join("..", "testdata", "form.pdf")), "cf2a18187b237bfb0e4eaa9c923a3916aa9785827269cd22289b91a9a41c3741"},
		"scripts": {textPage(), "d30c37a9d617daad740436ebdab29fc8a6291d5ba9ef738f42b099d10bf4c2f9"},
		"rotated": {pdf("BT /F1 20 Tf 0.7071 0.7071 -0.7071 0.7071 300 300 Tm (Two words) Tj ET", letter+"/Rotate 90/UserUnit 2"+fontList(1), helvetica), "14a5e28807c38fc67da5e109603e9f57bdd6ca270fadc538bda0c82a0d75c48a"},
		"tagged":  {taggedPage("8 0 R", "8 0 R 8 0 R null null", "<</Type/StructElem/S/H1/P 7 0 R/Pg 3 0 R/K[0 1]>>"), "443dcd860821b6dab4d4824ba1dd32a6fe2e2250a1f6280666a9a481ac14591c"},
	} {
		text, err := open(t, c.page).Text(1)
		require.NoError(t, err, name)
		_, sum, err := text.Encode()
		require.NoError(t, err, name)
		assert.Equal(t, c.want, hex.EncodeToString(sum[:]), name)
	}
}
