package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestRateLimitWindows_AreSeparate checks that windows are separated by key and start time, and that no window
// contains a caller's address.
func TestRateLimitWindows_AreSeparate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx, first := t.Context(), clock.Now().Truncate(time.Minute)
		second := first.Add(time.Minute)
		take := func(key string, start time.Time, n int) [2]int {
			taken, left, err := s.ReserveQuota(ctx, key, start, time.Minute, n, 10)
			require.NoError(t, err)
			return [2]int{taken, left}
		}
		require.Equal(t, [2]int{4, 6}, take("a", first, 4))
		require.Equal(t, [2]int{3, 7}, take("a", second, 3))
		require.Equal(t, [2]int{5, 5}, take("b", first, 5))
		take("a", first, -2)
		require.Equal(t, [2]int{0, 8}, take("a", first, 0))
		require.Equal(t, [2]int{0, 7}, take("a", second, 0), "another window of the same key")
		require.Equal(t, [2]int{0, 5}, take("b", first, 0), "another key")
		require.Equal(t, [2]int{8, 0}, take("a", first, 9))
		require.Equal(t, [2]int{0, 0}, take("a", first, 1))

		until, err := s.CallerKnownUntil(ctx, "a")
		require.NoError(t, err)
		require.True(t, until.IsZero(), "counting a client does not make it a known client")
		require.NoError(t, s.RememberCaller(ctx, "a", second))
		require.NoError(t, s.RememberCaller(ctx, "a", second.Add(time.Minute)))
		for key, want := range map[string]time.Time{"a": second.Add(time.Minute), "b": {}} {
			until, err := s.CallerKnownUntil(ctx, key)
			require.NoError(t, err)
			require.True(t, want.Equal(until), "%s: %s", key, until)
		}
	})
}
