package models

import (
	"unicode"
	"unicode/utf8"
)

// CheckText notes at path if s is shorter than min or longer than max
// characters, is not UTF-8, or holds control or invisible direction characters
// (which can make a text read as something it is not).
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
			p.Add(path, "must not contain control characters (found U+%04X)", r)
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

// hidden reports control characters, line and paragraph separators, and the
// bidirectional overrides and isolates.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\ufeff':
		return true
	}
	return false
}
