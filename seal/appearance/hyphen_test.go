package appearance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestText_WordDividedAtTheEndOfALine_KeepsItsHyphen checks that the hyphen of a word divided at the end of a line is
// kept. PDFium returns this hyphen as a control character, for which no replacement font contains a glyph.
func TestText_WordDividedAtTheEndOfALine_KeepsItsHyphen(t *testing.T) {
	t.Parallel()
	for name, font := range map[string]string{
		"Helvetica": helvetica, "not embedded": "<</Type/Font/Subtype/TrueType/BaseFont/Georgia/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 255/Widths[" + strings.Repeat("500 ", 224) + "]" +
			"/FontDescriptor<</Type/FontDescriptor/FontName/Georgia/Flags 32/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 700/StemV 80>>>>",
	} {
		for _, hyphen := range []string{"-", "\\255"} {
			b := pdf("BT /F1 12 Tf 100 700 Td (the tenancy agree"+hyphen+") Tj 0 -14 Td (ment of the parties) Tj ET", letter+fontList(1), font)
			got := words(t, b)
			require.Equal(t, []string{"the", "tenancy", "agree-", "ment", "of", "the", "parties"}, texts(got), name)
			assert.InDelta(t, got[2].Y+14, got[3].Y, 1)
			assert.Equal(t, got[2].Line+1, got[3].Line)
			missing, err := open(t, b).MissingGlyphs(1)
			require.NoError(t, err)
			require.Empty(t, missing, name)
		}
	}
}
