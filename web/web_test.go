package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/web"
)

// TestMissingAssets: what is not there is not kept by a browser or a proxy, a directory included.
func TestMissingAssets(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/assets/", "/assets", "/assets/none.js", "/assets/.."} {
		w := httptest.NewRecorder()
		web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), path)
	}
}
