package pagetext_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf/pagetext"
)

// positions returns the glyph positions of the first occurrence of a string.
func positions(t testing.TB, p *pagetext.Page, text string) (glyphs []pagetext.Position, removed map[int]bool) {
	t.Helper()
	found := p.Find(text, pagetext.FindOptions{})
	require.NotEmpty(t, found)
	removed = make(map[int]bool)
	for _, g := range found[0].Glyphs {
		glyphs = append(glyphs, p.Glyphs[g].Position)
		removed[g] = true
	}
	return glyphs, removed
}

// TestRemove checks that the glyphs are removed, as confirmed by pdftotext, and that all other glyphs keep their
// positions.
func TestRemove(t *testing.T) {
	t.Parallel()
	composite := map[int]string{
		6: "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 8 0 R>>",
		7: "<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 500/W[1[600 700] 3 9 550]>>",
		8: flow("", toUnicode),
	}
	for name, c := range map[string]struct{ content, text string }{
		"one operator":       {"BT /F1 12 Tf 72 700 Td (before {{tag}} behind) Tj ( more) Tj ET", "{{tag}}"},
		"all of it":          {"BT /F1 12 Tf 72 700 Td ({{tag}}) Tj (rest) Tj ET", "{{tag}}"},
		"several":            {"BT /F1 12 Tf 72 700 Td (a{{) Tj (t) Tj (ag}}b) Tj (c) Tj ET", "{{tag}}"},
		"kerned":             {"BT /F1 12 Tf 72 700 Td [(a{{) -20 (ta) 30 (g}}) 100 (b)] TJ (c) Tj ET", "{{tag}}"},
		"spaced":             {"BT /F1 12 Tf 3 Tw 1 Tc 90 Tz 72 700 Td (a b {{t ag}} c d) Tj (e) Tj ET", "{{t ag}}"},
		"next line":          {"BT /F1 12 Tf 14 TL 72 700 Td (a) Tj ({{tag}} b) ' 2 1 (c d) \" ET", "{{tag}}"},
		"spaced next line":   {"BT /F1 12 Tf 14 TL 72 700 Td (a) Tj 2 1 (c {{tag}} d) \" (e f) Tj ET", "{{tag}}"},
		"two lines":          {"BT /F1 12 Tf 14 TL 72 700 Td (a {{t) Tj T* (ag}} b) Tj ET", "{{t ag}}"},
		"escapes":            {"BT /F1 12 Tf 72 700 Td (\\(a\\) \\173{tag}\\175 \\\\b) Tj ET", "{{tag}}"},
		"hexadecimal":        {"BT /F1 12 Tf 72 700 Td <61 7B7B 74 7D7D 62> Tj ET", "{{t}}"},
		"drawn twice":        {"BT /F1 12 Tf 72 700 Td ({{tag}} a) Tj ET BT /F1 12 Tf 72.4 700 Td ({{tag}}) Tj ET", "{{tag}}"},
		"two bytes":          {"BT /F2 12 Tf 72 700 Td <00010002000300040005> Tj <0001> Tj ET", "bcd"},
		"ActualText":         {"BT /F1 12 Tf 72 700 Td /Span <</MCID 0/ActualText ({{tag}})>> BDC (xxyyyzz) Tj EMC (rest) Tj ET", "{{tag}}"},
		"shorter ActualText": {"BT /F1 12 Tf 72 700 Td /Span <</ActualText ({{t}})>> BDC (xyyyz) Tj (xx) Tj EMC (rest) Tj ET", "{{t}}"},
		"marks in marks":     {"BT /F1 12 Tf 72 700 Td /Span <</Alt ({{tag}})>> BDC /P BMC ({{tag}}) Tj EMC EMC (rest) Tj ET", "{{tag}}"},
		"other things":       {"q 1 0 0 1 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID (Tj EI Q BT /F1 12 Tf 72 700 Td % {{tag}}\n(a{{tag}}) Tj ET", "{{tag}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := read(t, build("", c.content, composite))[0]
			glyphs, removed := positions(t, before, c.text)
			content, err := pagetext.Remove([]byte(c.content), pagetext.Removal{Glyphs: glyphs})
			require.NoError(t, err)
			b := build("", string(content), composite)
			after := read(t, b)[0]
			require.Empty(t, after.Find(c.text, pagetext.FindOptions{}))
			i := 0
			for k, g := range before.Glyphs {
				if removed[k] {
					continue
				}
				require.Less(t, i, len(after.Glyphs))
				h := after.Glyphs[i]
				require.Equal(t, g.Text, h.Text)
				require.InDelta(t, g.Box.X, h.Box.X, 1e-4)
				require.InDelta(t, g.Box.Y, h.Box.Y, 1e-4)
				i++
			}
			require.Len(t, after.Glyphs, i)
			out, err := exec.CommandContext(t.Context(), "pdftotext", save(t, b), "-").Output()
			require.NoError(t, err)
			require.NotContains(t, string(out), "{{")
			require.NotContains(t, string(content), "({{tag}})")
		})
	}
}

// TestRemoveRejects checks that Remove returns an error for text that cannot be removed completely.
func TestRemoveRejects(t *testing.T) {
	t.Parallel()
	content := "BT /F1 12 Tf 72 700 Td /Span /P1 BDC (xx) Tj EMC ET"
	p := read(t, build("", content, map[int]string{20: "<</ActualText<FEFF00530069>>>"}))[0]
	glyphs, _ := positions(t, p, "Si")
	_, err := pagetext.Remove([]byte(content), pagetext.Removal{Glyphs: glyphs})
	require.ErrorIs(t, err, pagetext.ErrReplacedText)
	for _, at := range []pagetext.Position{{Start: 3, Length: 1}, {Start: 39, Code: 7, Length: 1}} {
		_, err := pagetext.Remove([]byte(content), pagetext.Removal{Glyphs: []pagetext.Position{at}})
		require.ErrorIs(t, err, pagetext.ErrNoSuchText)
	}
}

// TestRemoveNothing checks that content is unchanged if no glyphs are removed.
func TestRemoveNothing(t *testing.T) {
	t.Parallel()
	content := []byte("BT (a) Tj [(b)] TJ ET BI ID EI")
	out, err := pagetext.Remove(content, pagetext.Removal{})
	require.NoError(t, err)
	require.Equal(t, content, out)
}
