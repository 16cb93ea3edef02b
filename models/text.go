package models

import (
	"unicode"
	"unicode/utf8"

	"countersign/internal/plaintext"
)

// CheckText records a problem at path if s is shorter than minLen or longer than maxLen characters, or is not valid
// UTF-8. It also records a problem if s contains control characters or invisible characters, which can be used to
// disguise text.
func CheckText(p Problems, path, s string, minLen, maxLen int) {
	checkText(p, path, s, minLen, maxLen, plaintext.Hidden)
}

// CheckParagraph is like CheckText, but permits tabs and line breaks.
func CheckParagraph(p Problems, path, s string, minLen, maxLen int) {
	checkText(p, path, s, minLen, maxLen, func(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && plaintext.Hidden(r) })
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
