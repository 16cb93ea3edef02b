package hostguard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/internal/hostguard"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	h := hostguard.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), "dev.example")
	for host, want := range map[string]int{
		"localhost": 204, "LOCALHOST:8080": 204, "inbox.localhost:1": 204, "127.0.0.1:8080": 204, "[::1]:8080": 204, "192.0.2.7": 204, "dev.example:80": 204, "localhost.": 204,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421, "notlocalhost": 421, "x.dev.example": 421,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, host)
	}
}
