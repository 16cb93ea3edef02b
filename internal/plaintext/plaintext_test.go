package plaintext_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"countersign/internal/plaintext"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, line, stripped, visible string }{
		{"Ada", "Ada", "Ada", "Ada"},
		{" a\r\nBcc:\tb ", "a Bcc: b", " aBcc:b ", " a\r\nBcc:\tb "},
		{"a\u2028b\u0085c", "a b c", "abc", "a\u2028b\u0085c"},
		{"invoice\u202efdp.exe", "invoicefdp.exe", "invoicefdp.exe", "invoice\u202efdp.exe"},
		{"a\u2066b\u2069", "ab", "ab", "a\u2066b\u2069"},
		{"ad\u200bmin\ufeff\u00ad", "admin", "admin", "admin"},
		{"a\U000e0041b", "ab", "ab", "ab"},
		{"می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم"},
		{"👩\u200d⚖\ufe0f", "👩\u200d⚖\ufe0f", "👩\u200d⚖\ufe0f", "👩\u200d⚖\ufe0f"},
		{"a\xffb", "a\ufffdb", "ab", "a\xffb"},
		{"\u3164", "", "", ""},
	} {
		require.Equal(t, c.line, plaintext.Line(c.in), "%q", c.in)
		require.Equal(t, c.stripped, plaintext.Strip(c.in), "%q", c.in)
		require.Equal(t, c.visible, plaintext.Visible(c.in), "%q", c.in)
	}
	require.Equal(t, "ab", plaintext.Cut("ab cd", 3))
	require.Equal(t, "ab cd", plaintext.Cut("ab cd", 5))
	require.Equal(t, "äö", plaintext.Cut("äöü", 2))
	require.Empty(t, plaintext.Cut("a", 0))
}

// FuzzLine checks that the results of Line and Strip are valid UTF-8 without hidden characters, and that Line is
// idempotent.
func FuzzLine(f *testing.F) {
	f.Add("a\r\n\u202eb\u200b\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{plaintext.Line(s), plaintext.Strip(s)} {
			require.True(t, utf8.ValidString(out))
			for _, r := range out {
				require.False(t, plaintext.Hidden(r), "%U", r)
			}
		}
		require.Equal(t, plaintext.Line(s), plaintext.Line(plaintext.Line(s)))
	})
}
