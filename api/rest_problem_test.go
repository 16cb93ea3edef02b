package api_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
)

// TestFailuresAreLogged checks that rejected requests are not logged as errors and failures are.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log bytes.Buffer
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)) })
	c := s.client(t)
	c.post("/v1/embedded/builder-sessions", object{}).refused(400, "validation_error")
	mu.Lock()
	require.NotContains(t, log.String(), "level=ERROR")
	mu.Unlock()
	require.NoError(t, s.store.Close())
	c.get("/v1/webhooks").want(500)
	mu.Lock()
	require.Contains(t, log.String(), "level=ERROR")
	mu.Unlock()
}
