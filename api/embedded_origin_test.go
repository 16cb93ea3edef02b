package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSerializeOrigin compares with what browsers give as location.origin.
func TestSerializeOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://app.example.com":       "https://app.example.com",
		"HTTPS://App.Example.COM":       "https://app.example.com",
		"https://app.example.com:443":   "https://app.example.com",
		"https://app.example.com:0443":  "https://app.example.com",
		"https://app.example.com:8443":  "https://app.example.com:8443",
		"https://app.example.com:08443": "https://app.example.com:8443",
		"https://app.example.com:":      "https://app.example.com",
		"http://localhost:80":           "http://localhost",
		"http://localhost:443":          "http://localhost:443",
		"https://bücher.example":        "https://xn--bcher-kva.example",
		"https://BÜCHER.example:443":    "https://xn--bcher-kva.example",
		"https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
		"https://ｅxample.com":           "https://example.com",
		"https://[2001:DB8:0::1]:443":   "https://[2001:db8::1]",
		"https://127.0.0.1:9":           "https://127.0.0.1:9",
	} {
		got, err := serializeOrigin(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", " ", "null", "*", "https://", "https://*.example.com", "https://app.example.com/", "https://app.example.com?", "https://app.example.com#", "https://a@app.example.com",
		"app.example.com", "//app.example.com", "ftp://app.example.com", "https:app.example.com", "https://app.example.com:0", "https://app.example.com:65536", "https://app.example.com:x",
		"https://app.example.com:-1", "https://a b.example", "https://a'b.example", "https://a;b", "https://a,b", "https://-a.example-", "https://a..b", "https://[::1%25eth0]", "https://[127.0.0.1]",
		"https://127.1", "https://0x7f.0.0.1", "https://1", "https://\u00ad", "https://xn--\u00fc.example", "https://%61.example", " https://app.example.com", "https://app.example.com\n",
	} {
		got, err := serializeOrigin(text)
		require.Error(t, err, "%q became %q", text, got)
	}
}
