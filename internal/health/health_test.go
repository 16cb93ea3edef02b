package health_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/internal/health"
)

// TestReport_RequiredParts checks that only required checks determine the status, although the report contains all
// results.
func TestReport_RequiredParts(t *testing.T) {
	t.Parallel()
	checks := health.Checks{
		"database": func(context.Context) error { return nil },
		"files":    func(context.Context) error { return errors.New("no space left on device") },
	}
	for want, required := range map[int][]string{http.StatusOK: {"database"}, http.StatusServiceUnavailable: {"database", "files"}} {
		status, parts := checks.Report(t.Context(), slog.New(slog.DiscardHandler), required...)
		assert.Equal(t, want, status)
		assert.Equal(t, map[string]string{"database": "ok", "files": "down"}, parts)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	works := func(context.Context) error { return nil }
	fails := func(context.Context) error { return errors.New("password hunter2 was refused") }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, c := range []struct {
		name   string
		checks health.Checks
		status int
		body   string
	}{
		{"all work", health.Checks{"database": works, "files": works}, http.StatusOK, `{"database":"ok","files":"ok"}`},
		{"one fails", health.Checks{"database": fails, "files": works}, http.StatusServiceUnavailable, `{"database":"down","files":"ok"}`},
		{"one hangs", health.Checks{"database": works, "temporal": hangs}, http.StatusServiceUnavailable, `{"database":"ok","temporal":"down"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			w := httptest.NewRecorder()
			c.checks.Handler(slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			assert.Equal(t, c.status, w.Code)
			assert.JSONEq(t, c.body, w.Body.String(), "the reason is only logged")
			if c.status != http.StatusOK {
				assert.Contains(t, log.String(), "not ready")
			}
		})
	}
}
