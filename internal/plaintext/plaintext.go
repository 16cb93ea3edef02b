// Package plaintext defines the characters that a line of external text may contain, and removes all others.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character is invisible and can change the meaning of a text. Such characters are control
// characters, line and paragraph separators, bidirectional overrides and isolates (UAX #9 §2), and characters that can
// make two different texts look the same (see invisible).
func Hidden(r rune) bool { return breaks(r) || directs(r) || invisible(r) }

// breaks reports whether r is a control character or a line separator.
func breaks(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// directs reports whether r changes the direction of the surrounding text.
func directs(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// invisible reports whether r is invisible and can make two different texts look the same. Examples are zero-width
// spaces, direction marks, fillers and tags. It returns false for the zero-width joiner and non-joiner, which Persian,
// Indic names and emoji need, and for variation selectors, which select forms of CJK characters and emoji.
func invisible(r rune) bool { return unicode.Is(invisibles, r) }

// invisibles contains characters with the Unicode property Default_Ignorable_Code_Point, and format controls without
// a visible form.
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

// Visible returns s without invisible characters, which people often paste unknowingly.
func Visible(s string) string { return without(s, invisible) }

// Strip returns s as valid UTF-8 without hidden characters, for records and log messages.
func Strip(s string) string {
	return without(strings.ToValidUTF8(s, ""), func(r rune) bool { return Hidden(r) || r == utf8.RuneError })
}

func without(s string, drop func(rune) bool) string {
	if !strings.ContainsFunc(s, drop) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if drop(r) {
			return -1
		}
		return r
	}, s)
}

// Line returns s as a single line of valid UTF-8, with single spaces and without hidden characters. Invalid bytes are
// replaced with U+FFFD.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case breaks(r):
			return ' '
		case directs(r), invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.Join(strings.Fields(s), " ")
}

// Cut returns the first n characters of s.
func Cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return strings.TrimSpace(s[:i])
		}
		n--
	}
	return s
}
