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

// timeout bounds the asking of all parts together.
const timeout = 3 * time.Second

// Checks are the parts by name, each with what shows that it works.
type Checks map[string]func(context.Context) error

// Report asks all parts at the same time and says of each "ok" or "down"; why is only
// logged. The status is 200, or 503 if any is down.
func (cs Checks) Report(ctx context.Context, log *slog.Logger) (status int, parts map[string]string) {
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
				status, parts[name] = http.StatusServiceUnavailable, "down"
			}
		})
	}
	wg.Wait()
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
