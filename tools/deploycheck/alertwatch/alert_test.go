package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// TestEvaluate checks that an alert starts and stops firing after the configured times, and that a missing target is
// detected immediately.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	var rows atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE rows gauge\nrows{kind=\"a\"} %d\nother 1\n", rows.Load())
	}))
	defer target.Close()
	alerts := []*alert{
		{name: "Many", expr: "sum by (kind) (rows) > 5", hold: time.Minute, keep: 2 * time.Minute, active: map[string]*active{}},
		{name: "Absent", expr: "absent(rows)", active: map[string]*active{}},
		{name: "Down", expr: `up{job="countersign"} == 0`, active: map[string]*active{}},
	}
	clock := virtual{time.Now(), 600} // one second represents ten minutes
	s := newStore(clock, metricsOf(alerts))
	engine := promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	step := func(targets ...string) []string {
		t.Helper()
		s.scrape(context.Background(), http.DefaultClient, targets)
		var out []string
		for _, a := range alerts {
			changes, err := a.evaluate(context.Background(), engine, s, clock.now())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				out = append(out, fmt.Sprint(c.Alert, " ", c.Firing))
			}
		}
		slices.Sort(out)
		return out
	}
	at := strings.TrimPrefix(target.URL, "http://")
	want := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, not %q", what, got, want)
		}
	}
	want("all is well", step(at))
	rows.Store(9)
	want("not for a minute yet", step(at))
	time.Sleep(150 * time.Millisecond)
	want("for more than a minute", step(at), "Many true")
	target.Close()
	want("the target is gone", step(at), "Absent true", "Down true")
	time.Sleep(300 * time.Millisecond)
	want("kept for two minutes", step(at), "Many false")
	if len(s.series) != 2 {
		t.Errorf("%d series: only series that the rules use must be stored", len(s.series))
	}
}
