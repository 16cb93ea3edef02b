package api

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSerializeOrigin compares the results with location.origin in browsers.
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

// TestOrigins checks that only exact https origins are accepted and, in development, also http origins on this machine.
func TestOrigins(t *testing.T) {
	t.Parallel()
	longest := "https://" + strings.Repeat("a", 253)
	for text, want := range map[string]string{
		"https://app.example.com": "https://app.example.com", "HTTPS://App.Example.com": "https://app.example.com", "https://App.Example.com": "https://app.example.com", "https://a.b:8443": "https://a.b:8443",
		"https://a.b/": "", "https://a.b/x": "", "https://a.b?x": "", "https://a.b#x": "", "https://u@a.b": "", "http://a.b": "", "https://": "", "https:a.b": "", "ftp://a.b": "", "a.b": "",
		"https://*.b": "", "https://a'b": "", "https://a;b": "", "https://a,b": "", "null": "", "http://localhost": "", "http://127.0.0.1:1": "", "https://localhost": "https://localhost",
		longest: longest, longest + "a": "", "://": "",
	} {
		s := &embeddedHandler{}
		o := &object{m: map[string]any{"o": text}, p: models.Problems{}}
		got := s.origin(o, "o")
		require.Equal(t, want == "", len(o.p) > 0, text)
		if want != "" {
			require.Equal(t, want, got)
		}
	}
	o := &object{m: map[string]any{}, p: models.Problems{}}
	require.Empty(t, (&embeddedHandler{}).origin(o, "o"))
	require.Equal(t, models.Problems{"o": {"is required"}}, o.p)
	s := &embeddedHandler{}
	s.development = true
	for text, want := range map[string]bool{
		"http://localhost": true, "http://127.0.0.1:8080": true, "http://[::1]:1": true, "https://localhost": true, "http://a.b": false, "ftp://localhost": false, "http://u@localhost": false,
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, s.secureURL(u), text)
	}
}
