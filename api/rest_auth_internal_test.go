package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestBearerTokens checks that a header is accepted only if it consists of the scheme Bearer, in upper or lower case,
// and a token.
func TestBearerTokens(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER x y": "x y", "": "", "x": "", "Bearer": "", "Bearer ": "", "Basic x": "", "Bearers x": "", " Bearer x": "",
	} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.Header.Set("Authorization", header)
		got, err := bearerToken(c)
		require.Equal(t, want, got, "%q", header)
		if want == "" {
			require.Equal(t, "unauthorized", codeOf(t, err), "%q", header)
		} else {
			require.NoError(t, err)
		}
		scheme, _, _ := strings.Cut(header, " ")
		require.Equal(t, strings.EqualFold(scheme, "bearer"), hasBearer(c), "%q", header)
	}
}

// TestAppCache_LastsASecond checks that apps are cached for one second, even if the clock is set back.
func TestAppCache_LastsASecond(t *testing.T) {
	t.Parallel()
	var cache appCache
	loads := 0
	load := func(_ context.Context, id uuid.UUID) (*models.App, error) {
		loads++
		return &models.App{ID: id}, nil
	}
	id, start := uuid.New(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		after time.Duration
		loads int
	}{{0, 1}, {0, 1}, {time.Second - 1, 1}, {time.Second, 2}, {2*time.Second - 1, 2}, {500 * time.Millisecond, 3}, {500 * time.Millisecond, 3}} {
		app, err := cache.get(t.Context(), id, start.Add(tt.after), load)
		require.NoError(t, err)
		require.Equal(t, id, app.ID)
		require.Equal(t, tt.loads, loads, "%s", tt.after)
	}
	_, err := cache.get(t.Context(), uuid.New(), start, func(context.Context, uuid.UUID) (*models.App, error) { return nil, models.ErrNotFound })
	require.ErrorIs(t, err, models.ErrNotFound)
	require.Len(t, cache.byID, 1, "unknown keys are not cached")
	for len(cache.byID) < maxCachedApps {
		cache.byID[uuid.New()] = cachedApp{at: start}
	}
	_, err = cache.get(t.Context(), uuid.New(), start, load)
	require.NoError(t, err)
	require.Len(t, cache.byID, 1, "a full cache is cleared")
}

// fakeQuotas grants reservations from a fixed quota and records them.
type fakeQuotas struct {
	left     int
	err      error
	reserved []int
}

func (q *fakeQuotas) ReserveQuota(_ context.Context, _ string, _ time.Time, _ time.Duration, n, _ int) (taken, left int, err error) {
	q.reserved = append(q.reserved, n)
	taken = min(n, q.left)
	q.left -= taken
	return taken, q.left, q.err
}
