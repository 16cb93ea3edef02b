package seal

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"countersign/seal/fonts"
	"countersign/seal/rejection"
	"countersign/seal/text"
)

// library returns the bundled fonts. They are loaded on first use and never modified.
var library = sync.OnceValue(func() *text.Library { return text.NewLibrary(fonts.Bundled()) })

// maxText is the maximum length of the text of one field, in characters.
const maxText = 4000

// CheckText rejects text that is too long (text_too_long) or that contains a character that no bundled font can draw
// (glyph_missing). The error identifies the character. Line feeds are allowed.
func CheckText(s string) error {
	if utf8.RuneCountInString(s) > maxText {
		return rejection.New(rejection.TextTooLong, fmt.Sprintf("The text is longer than %d characters.", maxText))
	}
	err := library().Check(s)
	if missing, ok := errors.AsType[*text.MissingGlyphError](err); ok {
		return glyphMissing(missing)
	}
	return err
}

func glyphMissing(e *text.MissingGlyphError) *rejection.Error {
	if e.Rune == utf8.RuneError {
		return rejection.New(rejection.GlyphMissing, "The text is not valid Unicode.")
	}
	return rejection.New(rejection.GlyphMissing, fmt.Sprintf("The character “%c” (U+%04X) cannot be drawn into the document.", e.Rune, e.Rune))
}
