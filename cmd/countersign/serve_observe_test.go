package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestProfiles checks that profiles are served. The command line must not be served, because it may contain file names
// and addresses.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusOK, "/debug/pprof/allocs": http.StatusOK, "/debug/pprof/profile?seconds=1": http.StatusOK,
		"/debug/pprof/cmdline": http.StatusNotFound, "/metrics": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		profiles().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		assert.Equal(t, want, w.Code, path)
		assert.NotEmpty(t, w.Body.Bytes(), path)
	}
}
