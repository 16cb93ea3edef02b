// Package health checks the dependencies of the service.
package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

// timeout limits the total duration of all checks.
const timeout = 3 * time.Second

// Checks maps the names of dependencies to their checks.
type Checks map[string]func(context.Context) error

// Report runs all checks concurrently and reports "ok" or "down" for each. The reason for a failure is logged, but not
// returned. The status is 503 if a required check fails, and otherwise 200. If required is empty, all checks are
// required.
func (cs Checks) Report(ctx context.Context, log *slog.Logger, required ...string) (status int, parts map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, parts = http.StatusOK, make(map[string]string, len(cs))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name, check := range cs {
		wg.Go(func() {
			err := check(ctx)
			mu.Lock()
			defer mu.Unlock()
			parts[name] = "ok"
			if err != nil {
				log.WarnContext(ctx, "not ready", "part", name, "error", err)
				if parts[name] = "down"; len(required) == 0 || slices.Contains(required, name) {
					status = http.StatusServiceUnavailable
				}
			}
		})
	}
	wg.Wait()
	return status, parts
}

// Handler returns a handler that responds with the report.
func (cs Checks) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, parts := cs.Report(r.Context(), log)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(parts) // the client may have disconnected
	})
}
