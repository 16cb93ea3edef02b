package api

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestBulkLimit_BytesAndRequestsPerApp checks the limit on the total size of concurrent requests with rows, and the
// limit of one such request per app.
func TestBulkLimit_BytesAndRequestsPerApp(t *testing.T) {
	t.Parallel()
	limited := newBulkLimit()
	take := func(app uuid.UUID, wait time.Duration) func() {
		t.Helper()
		release, err := limited.acquire(t.Context(), app, maxBulkBody/2, wait)
		require.NoError(t, err)
		return release
	}
	busy := func(app uuid.UUID) {
		t.Helper()
		_, err := limited.acquire(t.Context(), app, maxBulkBody/2, 10*time.Millisecond)
		require.Equal(t, "busy", codeOf(t, err))
	}
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	first := take(a, time.Minute)
	busy(a)
	second := take(b, time.Minute)
	busy(c)
	busy(a)
	first()
	first = take(a, time.Minute)
	second()
	third := take(c, time.Minute)
	waited := make(chan func())
	go func() {
		release, err := limited.acquire(t.Context(), a, maxBulkBody+1, time.Minute)
		if err != nil {
			release = nil
		}
		waited <- release
	}()
	third()
	first()
	last := <-waited
	require.NotNil(t, last)
	last()
	require.Empty(t, limited.apps, "apps without requests use no memory")
}
