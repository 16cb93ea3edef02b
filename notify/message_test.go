package notify_test

import (
	"bytes"
	"mime"
	netmail "net/mail"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoControlCharactersInHeaders checks that headers contain no control characters, and no characters that change the
// direction of text.
func TestNoControlCharactersInHeaders(t *testing.T) {
	t.Parallel()
	server := serve(t, serverKind{})
	s := sender(t, server, "?tls=none")
	for in, want := range map[string]string{
		"a\x00b": "a b", "a\x1b[31mb": "a [31mb", "a\x7fb": "a b", "a\u0085b": "a b", "a\u009bb": "a b", "a\u2028b\u2029c": "a b c",
		"a\u202ebc\u202c": "abc", "a\u2066b\u2069": "ab", " \t a  b \r\n": "a b", "=?utf-8?q?x?=": "= ?utf-8?q?x?=",
	} {
		m := hello()
		m.Subject, m.FromName, m.To.Name = in, in, in
		require.NoError(t, s.Send(t.Context(), m), "%q", in)
		messages := server.messages()
		parsed, err := netmail.ReadMessage(bytes.NewReader(messages[len(messages)-1].raw))
		require.NoError(t, err)
		subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
		require.NoError(t, err)
		assert.Equal(t, want, subject, "%q", in)
		for _, name := range []string{"From", "To"} {
			list, err := parsed.Header.AddressList(name)
			require.NoError(t, err)
			assert.False(t, strings.ContainsFunc(list[0].Name, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' || r == '\u2066' }), "%q", list[0].Name)
		}
	}
}
