package models

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText notes at path if s is shorter than min or longer than max
// characters, is not UTF-8, or holds control or invisible characters (which can
// make a text read as something it is not).
func CheckText(p Problems, path, s string, minLen, maxLen int) {
	checkText(p, path, s, minLen, maxLen, hidden)
}

// CheckParagraph is CheckText that allows tabs and line breaks.
func CheckParagraph(p Problems, path, s string, minLen, maxLen int) {
	checkText(p, path, s, minLen, maxLen, func(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && hidden(r) })
}

func checkText(p Problems, path, s string, minLen, maxLen int, bad func(rune) bool) {
	n := utf8.RuneCountInString(s)
	blank := true
	for _, r := range s {
		if bad(r) {
			p.Add(path, "must not contain control or invisible characters (found U+%04X)", r)
			return
		}
		blank = blank && unicode.IsSpace(r)
	}
	switch {
	case !utf8.ValidString(s):
		p.Add(path, "must be valid UTF-8")
	case minLen > 0 && blank:
		p.Add(path, "must not be empty")
	case n < minLen:
		p.Add(path, "must have at least %d characters", minLen)
	case n > maxLen:
		p.Add(path, "must have at most %d characters", maxLen)
	}
}

// hidden reports control characters, line and paragraph separators, the
// bidirectional overrides and isolates, and invisible characters.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return invisible(r)
}

// invisible reports characters that show nothing and can make two different
// texts look the same: zero-width spaces, direction marks, fillers, tags and the
// like. The zero-width joiner and non-joiner are none of them, because Persian,
// Indic names and emoji need them; nor are variation selectors, which choose
// between forms of CJK characters and emoji.
func invisible(r rune) bool {
	return unicode.Is(invisibles, r)
}

// invisibles are in Unicode's Default_Ignorable_Code_Point, or are format
// controls without a visible form.
var invisibles = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, // soft hyphen
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // combining grapheme joiner
		{Lo: 0x061c, Hi: 0x061c, Stride: 1}, // Arabic letter mark
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180e, Hi: 0x180e, Stride: 1}, // Mongolian vowel separator
		{Lo: 0x200b, Hi: 0x200b, Stride: 1}, // zero-width space
		{Lo: 0x200e, Hi: 0x200f, Stride: 1}, // direction marks
		{Lo: 0x2060, Hi: 0x2065, Stride: 1}, // word joiner, invisible operators
		{Lo: 0x206a, Hi: 0x206f, Stride: 1}, // deprecated format controls
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}, // byte order mark
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // half-width Hangul filler
		{Lo: 0xfff0, Hi: 0xfffb, Stride: 1}, // unassigned, interlinear annotations
	},
	R32: []unicode.Range32{
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1}, // shorthand format controls
		{Lo: 0x1d173, Hi: 0x1d17a, Stride: 1}, // musical format controls
		{Lo: 0xe0000, Hi: 0xe00ff, Stride: 1}, // tags, unassigned
		{Lo: 0xe01f0, Hi: 0xe0fff, Stride: 1}, // unassigned
	},
}

// Visible is s without invisible characters, which people paste without knowing.
func Visible(s string) string {
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}
