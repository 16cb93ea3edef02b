package api

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestLimiter_AllowsExactly checks that exactly the permitted number of requests per minute is accepted.
func TestLimiter_AllowsExactly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	l := newLimiter(3, clock, nil)
	for _, want := range []int{2, 1, 0, -1, -1} {
		left, reset := l.consume(t.Context(), "a")
		require.Equal(t, want, left)
		require.Equal(t, now.Truncate(time.Minute).Add(time.Minute), reset)
	}
	left, _ := l.consume(t.Context(), "b")
	require.Equal(t, 2, left, "other clients have their own limit")
	now = now.Add(54 * time.Second)
	left, _ = l.consume(t.Context(), "a")
	require.Equal(t, -1, left, "the minute has not ended")
	now = now.Add(time.Second)
	left, _ = l.consume(t.Context(), "a")
	require.Equal(t, 2, left)

	shared := &fakeQuotas{left: 64}
	l = newLimiter(64, clock, shared)
	taken := 0
	for {
		if left, _ := l.consume(t.Context(), "a"); left < 0 {
			break
		}
		taken++
	}
	require.Equal(t, 64, taken)
	require.Equal(t, 4, shared.reserved[0], "a sixteenth of the remaining requests")
	require.Equal(t, 1, shared.reserved[len(shared.reserved)-1])
	broken := newLimiter(2, clock, &fakeQuotas{err: errors.New("down")})
	for _, want := range []int{1, 0, -1} {
		left, _ := broken.consume(t.Context(), "a")
		require.Equal(t, want, left, "the process counts on its own")
	}
	full := newLimiter(1, clock, nil)
	full.start = now.Truncate(time.Minute)
	for len(full.reservations) < maxKeys {
		full.reservations[uuid.NewString()] = &reservation{left: 1}
	}
	left, _ = full.consume(t.Context(), "new")
	require.Equal(t, 0, left)
	left, _ = full.consume(t.Context(), "another")
	require.Equal(t, -1, left, "new keys share one counter")
	require.Len(t, full.reservations, maxKeys+1)
}

// TestCallerNetwork checks that the result is an IPv4 address or an IPv6 network.
func TestCallerNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[::ffff:192.0.2.7]:1": "192.0.2.7", "": "",
	} {
		c, _ := request(http.MethodGet, "/", "", "")
		c.Request.RemoteAddr = address
		require.Equal(t, want, callerNetwork(c), address)
	}
}
