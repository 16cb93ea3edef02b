package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/web"
)

// TestSigningPage_PreloadsWhatItRequestsFirst checks the headers that preload the signer's context and the page's
// messages.
func TestSigningPage_PreloadsWhatItRequestsFirst(t *testing.T) {
	t.Parallel()
	links := func(path, language string) []string {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", language)
		web.Handler().ServeHTTP(w, r)
		return w.Header().Values("Link")
	}
	const rest = ">; rel=preload; as=fetch; crossorigin"
	for header, language := range map[string]string{
		"": "en", "en-GB,en;q=0.9": "en", "xx,DE-ch;q=0.8,en;q=0.5": "de", "*": "en", "xx-de": "en", strings.Repeat("xx,", 50) + "de": "en",
	} {
		got := links("/sign/abc.D-_1", header)
		require.Equal(t, "</v1/signing/abc.D-_1?language="+language+rest, got[0], header)
		if language == "en" {
			require.Len(t, got, 1, header)
			continue
		}
		require.Len(t, got, 2, header)
		file, ok := strings.CutSuffix(got[1], ">; rel=modulepreload; crossorigin")
		require.True(t, ok, got[1])
		w := httptest.NewRecorder()
		web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimPrefix(file, "<"), nil))
		require.Equal(t, http.StatusOK, w.Code, file)
	}
	for _, path := range []string{"/sign", "/sign/", "/sign/a/b", "/sign/a%3E%3B", "/sign/a%20b", "/download/abc", "/console/sign/abc", "/"} {
		require.Empty(t, links(path, "de"), path)
	}
}
