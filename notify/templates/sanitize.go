package templates

import (
	"strings"
	"unicode/utf8"

	"countersign/internal/plaintext"
)

const (
	maxName      = 120  // displayed characters of the name of a person or file
	maxSubject   = 255  // displayed characters of a subject
	maxMessage   = 5000 // displayed characters of a message or reason
	maxDocuments = 20   // number of documents listed in an invitation
)

// line returns s as one line of plain text, at most n characters long.
func line(s string, n int) string { return truncate(plaintext.Line(s), n) }

// lines splits a message into lines. It collapses consecutive empty lines into one.
func lines(s string) []string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n").Replace(s)
	s = truncate(strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd")), maxMessage)
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

// truncate shortens a text of more than n characters, and adds an ellipsis. The result has at most n characters.
func truncate(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}
