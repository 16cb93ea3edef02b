package appearance

import (
	"unicode"

	"github.com/tetratelabs/wazero/api"
)

// MissingGlyph is a character in a page's text that is not drawn, because its font is not embedded and no bundled font
// contains a glyph for it.
type MissingGlyph struct {
	Page      int  `json:"page"`
	Character rune `json:"character"` // 0 if the document does not identify the character
	// Font is the base name of the font.
	Font string `json:"font"`
}

// Text rendering modes that draw nothing (9.3.6). They are used, for example, for the recognized text of a scan.
const (
	renderInvisible = 3
	renderClip      = 7
)

// MissingGlyphs returns the distinct characters of a page whose font is not embedded and whose replacement font
// contains no glyph for them.
func (d *Document) MissingGlyphs(number int) ([]MissingGlyph, error) {
	var out []MissingGlyph
	err := d.characters(number, func(r *textReader) {
		type glyph struct {
			font uint64
			code rune
		}
		embedded, seen := make(map[uint64]bool), make(map[glyph]bool)
		found := make(map[rune]bool)
		for i := range r.count {
			index := uint64(i)
			object := r.d.call("FPDFText_GetTextObject", r.text, index)
			if object == 0 { // white space inserted by PDFium
				continue
			}
			if mode := int32(r.d.call("FPDFTextObj_GetTextRenderMode", object)); mode == renderInvisible || mode == renderClip { //nolint:gosec // an int
				continue
			}
			font := r.d.call("FPDFTextObj_GetFont", object)
			if _, ok := embedded[font]; !ok {
				embedded[font] = font == 0 || r.d.call("FPDFFont_GetIsEmbedded", font) == 1
			}
			code, divides := r.code(index)
			g := glyph{font, code}
			if embedded[font] || seen[g] || unicode.IsSpace(g.code) || unicode.Is(unicode.Cf, g.code) {
				continue
			}
			seen[g] = true
			if !found[g.code] && !r.draws(font, g.code) && (!divides || !r.draws(font, softHyphen)) {
				found[g.code] = true
				out = append(out, MissingGlyph{number, g.code, r.fontName(font)})
			}
		}
	})
	return out, err
}

const softHyphen = 0xAD

// draws reports whether a font contains a visible glyph for a character.
func (r *textReader) draws(font uint64, code rune) bool {
	path := r.d.call("FPDFFont_GetGlyphPath", font, uint64(uint32(code)), api.EncodeF32(12)) //nolint:gosec // a code point
	return path != 0 && int32(r.d.call("FPDFGlyphPath_CountGlyphSegments", path)) > 0        //nolint:gosec // an int
}

// maxFontName is the maximum length of a font name, in bytes.
const maxFontName = 128

// fontName returns the base name of a font.
func (r *textReader) fontName(font uint64) string {
	buffer := r.d.call("malloc", maxFontName)
	n := r.d.call("FPDFFont_GetBaseFontName", font, buffer, maxFontName)
	b, ok := r.d.module.Memory().Read(uint32(buffer), maxFontName) //nolint:gosec // a 32-bit address
	if buffer == 0 || !ok || n == 0 || n > maxFontName {
		return ""
	}
	return string(b[:n-1]) // without the terminating zero
}
