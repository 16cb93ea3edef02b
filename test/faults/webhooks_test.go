package faults_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endpoints maps paths to misbehaving endpoints. Each has a handler, and specifies whether an attempt lasts until it
// times out.
var endpoints = map[string]struct {
	slow bool
	do   http.HandlerFunc
}{
	"/500": {do: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
	"/redirect": {do: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/all", http.StatusTemporaryRedirect)
	}},
	"/closed": {do: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	"/huge": {do: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range 512 {
			if _, err := w.Write(chunk); err != nil {
				return // the service has stopped reading
			}
		}
	}},
	"/hang": {slow: true, do: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	"/drip": {slow: true, do: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(".")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // fails once the service has disconnected
			time.Sleep(200 * time.Millisecond)
		}
	}},
}

// TestBadEndpoints delivers to endpoints that first work correctly and then misbehave in every way. It checks that each
// endpoint receives five attempts on schedule, that the worker's memory stays limited, and that a healthy endpoint
// receives its events without delay.
func TestBadEndpoints(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		worker := w.worker()
		w.login()
		w.subscribe("/all")
		for path := range endpoints {
			w.subscribe(path, "envelope.voided")
		}
		const n = 6
		quiet := w.latencies(t, n)
		for path := range endpoints {
			eventually(t, func() bool { return w.deliveries(path, "delivered") == n }, "%s did not receive all deliveries while it worked correctly", path)
		}
		for path, e := range endpoints {
			w.hooks.on(path, e.do)
		}
		before := memory(t, worker)
		loud := w.latencies(t, n)
		t.Logf("healthy endpoint, from the call to the delivery: %v with healthy endpoints, %v with failing ones (median)", median(quiet), median(loud))
		require.Less(t, median(loud), 30*time.Second, "the healthy endpoint must not wait for failing ones")

		for path, e := range endpoints {
			if e.slow && !long() {
				continue // each delivery takes five attempts of 10 s, and two deliveries run at a time
			}
			within(t, 4*waitTimeout, func() bool { return w.deliveries(path, "pending") == 0 }, "deliveries to %s did not fail permanently", path)
			assert.Equal(t, n, w.deliveries(path, "failed"), path)
			w.checkAttempts(t, path)
		}
		after := memory(t, worker)
		t.Logf("the worker's peak resident memory: %d MB before, %d MB after", before>>20, after>>20)
		assert.Less(t, after-before, 200<<20, "memory must be limited")
		w.check("/all")
	})
}

// deliveries counts the deliveries with the given status to a path.
func (w *scenario) deliveries(path, status string) int {
	return w.count(`SELECT count(*) FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id WHERE h.url = $1 AND d.status = $2`, w.hooks.url+path, status)
}

// checkAttempts checks that each failed delivery to a path had five attempts, none of them too early. On an overloaded
// machine, one attempt may have been interrupted, and such an attempt is not recorded.
func (w *scenario) checkAttempts(t *testing.T, path string) {
	t.Helper()
	rows, err := w.db.Query(t.Context(), `SELECT d.attempts, array_agg(a.at ORDER BY a.number) FROM webhook_deliveries d
		JOIN webhooks h ON h.id = d.webhook_id JOIN delivery_attempts a ON a.delivery_id = d.id WHERE h.url = $1 AND d.status = 'failed' GROUP BY d.id, d.attempts`, w.hooks.url+path)
	require.NoError(t, err)
	defer rows.Close()
	most := 0
	for rows.Next() {
		var attempts int
		var at []time.Time
		require.NoError(t, rows.Scan(&attempts, &at))
		most = max(most, attempts)
		for i := 1; i < len(at); i++ {
			assert.GreaterOrEqual(t, at[i].Sub(at[i-1]), 900*time.Millisecond, "%s: attempt %d", path, i+1)
		}
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, 5, most, path)
}

// latencies returns the times from voiding an envelope until its event arrives at the healthy endpoint.
func (w *scenario) latencies(t *testing.T, n int) (all []time.Duration) {
	t.Helper()
	for range n {
		e, err := w.send(1)
		require.NoError(t, err)
		start := time.Now()
		_, err = e.void()
		require.NoError(t, err)
		var event string
		require.NoError(t, w.db.QueryRow(t.Context(), "SELECT id FROM audit_events WHERE envelope_id = $1 AND name = 'envelope.voided'", e.id).Scan(&event))
		eventually(t, func() bool { return len(w.hooks.of("/all", event)) > 0 }, "the healthy endpoint did not receive the event")
		all = append(all, w.hooks.of("/all", event)[0].at.Sub(start))
	}
	return all
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2].Round(time.Millisecond)
}

// memory returns the peak resident memory of a process in bytes.
func memory(t *testing.T, p *process) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	require.Fail(t, "no VmHWM")
	return 0
}
