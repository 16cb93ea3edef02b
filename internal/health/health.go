// Package health asks the parts that the service rests on whether they work.
package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Timeout bounds the asking of all parts together.
const Timeout = 3 * time.Second

// Checks are the parts by name, each with what shows that it works.
type Checks map[string]func(context.Context) error

// Run asks all parts at the same time and returns an error for each that does
// not work. No part takes longer than Limit.
func (cs Checks) Run(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		down = make(map[string]error)
	)
	for name, check := range cs {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				down[name] = err
			}
		})
	}
	wg.Wait()
	return down
}

// Report asks all parts and says of each "ok" or "down"; why is only logged. The
// status is 200, or 503 if any is down.
func (cs Checks) Report(ctx context.Context, log *slog.Logger) (status int, parts map[string]string) {
	status, parts = http.StatusOK, make(map[string]string, len(cs))
	down := cs.Run(ctx)
	for name := range cs {
		parts[name] = "ok"
		if err := down[name]; err != nil {
			log.WarnContext(ctx, "not ready", "part", name, "error", err)
			status, parts[name] = http.StatusServiceUnavailable, "down"
		}
	}
	return status, parts
}

// Handler answers with the report.
func (cs Checks) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, parts := cs.Report(r.Context(), log)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(parts) // the prober has gone
	})
}
