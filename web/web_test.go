package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/web"
)

// TestMissingAssets checks that browsers and proxies do not cache responses for missing assets and directories.
func TestMissingAssets(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/assets/", "/assets", "/assets/none.js", "/assets/.."} {
		w := httptest.NewRecorder()
		web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), path)
	}
}

// TestFrames checks that only the preview of a signing page may be framed, and only by the service's own pages.
func TestFrames(t *testing.T) {
	t.Parallel()
	for path, ancestors := range map[string]string{"/preview/x/y": "'self'", "/console": "'none'", "/sign/x": "'none'", "/": "'none'"} {
		w := httptest.NewRecorder()
		w.Header().Set("X-Frame-Options", "DENY")
		web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors "+ancestors, path)
		require.Equal(t, map[string]string{"'self'": "SAMEORIGIN", "'none'": "DENY"}[ancestors], w.Header().Get("X-Frame-Options"), path)
	}
}
