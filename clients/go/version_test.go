package countersign

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUserAgent_HasTheVersion checks that both clients have the same version, and that the Go client sends it.
func TestUserAgent_HasTheVersion(t *testing.T) {
	t.Parallel()
	agents := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.Header.Get("User-Agent")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	c, err := New(s.URL, "id", "secret", WithRetries(0))
	require.NoError(t, err)
	_, err = c.API.ListWebhooksWithResponse(t.Context())
	require.Error(t, err)
	require.Equal(t, "countersign-go/"+Version, <-agents)
	b, err := os.ReadFile("../typescript/package.json")
	require.NoError(t, err)
	var p struct{ Version string }
	require.NoError(t, json.Unmarshal(b, &p))
	require.Equal(t, Version, p.Version)
}
