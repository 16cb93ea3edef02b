package templates

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName      = 120  // characters shown of a person's or file's name
	maxSubject   = 255  // of a subject
	maxMessage   = 5000 // of a message or reason
	maxDocuments = 20   // named in an invitation
)

// line makes s one line of printable text without direction overrides, at most
// n characters long.
func line(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case overrides(r):
			return -1
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return cut(strings.Join(strings.Fields(s), " "), n)
}

// lines keeps the line breaks of a message, at most one empty line in a row.
func lines(s string) []string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n").Replace(s)
	s = cut(strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd")), maxMessage)
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		l = line(l, maxMessage)
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, l)
	}
	return out
}

// overrides reports the characters that turn the direction of the text around
// them (UAX #9 §2) and can make a name or file name read as another.
func overrides(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// cut shortens s to n characters, the last of them an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}
