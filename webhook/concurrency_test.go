package webhook_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
	"countersign/webhook"
)

// hangingEndpoint is an endpoint that responds only when released. It counts the waiting deliveries.
type hangingEndpoint struct {
	mu        sync.Mutex
	now, most int
	let       chan struct{}
}

func newHangingEndpoint(t *testing.T) (*hangingEndpoint, string) {
	t.Helper()
	h := &hangingEndpoint{let: make(chan struct{})}
	s := endpoint(t, func(http.ResponseWriter, *http.Request) {
		h.mu.Lock()
		h.now++
		h.most = max(h.most, h.now)
		h.mu.Unlock()
		<-h.let
		h.mu.Lock()
		h.now--
		h.mu.Unlock()
	})
	return h, s.URL
}

func (h *hangingEndpoint) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// TestLimiter_LimitsEachEndpoint checks that an endpoint that does not respond exhausts only its own limit.
func TestLimiter_LimitsEachEndpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing bool
		places  int
	}{"well": {false, 20}, "failing": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, url := newHangingEndpoint(t)
			clock := kit.NewClock()
			hooks := client(t, webhook.ClientConfig{AllowPrivate: true, Timeout: time.Hour, Now: clock.Now})
			req := request(url)
			req.Endpoint, req.Failing = "slow", c.failing
			var under sync.WaitGroup
			for range c.places {
				under.Go(func() { assert.True(t, hooks.Deliver(t.Context(), req).OK()) })
			}
			require.Eventually(t, func() bool { return h.waiting() == c.places }, time.Minute, time.Millisecond)

			waits := make(map[time.Duration]int)
			for range 5000 {
				res := hooks.Deliver(t.Context(), req)
				require.False(t, res.OK())
				require.Zero(t, res.Status, "no delivery was attempted")
				require.GreaterOrEqual(t, res.Wait, time.Second)
				require.LessOrEqual(t, res.Wait, 10*time.Minute)
				waits[res.Wait.Truncate(time.Second)]++
			}
			for at, n := range waits {
				if at > time.Second {
					assert.LessOrEqual(t, n, 20*c.places, "the delays must vary, at %s", at)
				}
			}
			other := endpoint(t, func(http.ResponseWriter, *http.Request) {})
			well := request(other.URL)
			well.Endpoint = "other"
			require.True(t, hooks.Deliver(t.Context(), well).OK(), "other endpoints must not be delayed")

			clock.Add(8 * time.Second)
			close(h.let)
			under.Wait()
			require.Equal(t, c.places, h.most)
			require.True(t, hooks.Deliver(t.Context(), req).OK(), "the concurrency limit is free again")
		})
	}
}
