// Command alertwatch evaluates alert rules in the same way as Prometheus, on metrics that it scrapes, and prints each
// change of an alert as a line of JSON. Its clock runs faster than real time (-stretch), so that alerts that take
// half an hour can be tested within minutes. The timestamps of samples, and the metrics that contain durations, are
// stretched accordingly.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

func main() {
	rules := flag.String("rules", "deploy/prometheus/alerts.yaml", "file with alert rules")
	targets := flag.String("targets", "", "file with the addresses of the targets (host:port), one per line, which is read before each scrape")
	every := flag.Duration("every", 500*time.Millisecond, "time between scrapes, in real time")
	stretch := flag.Float64("stretch", 1, "speed of the rules' clock relative to real time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := watch(ctx, *rules, *targets, *every, *stretch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// change is an output line.
type change struct {
	Alert  string            `json:"alert"`
	Labels map[string]string `json:"labels"`
	Firing bool              `json:"firing"`
	At     time.Time         `json:"at"` // real time
}

func watch(ctx context.Context, rules, targets string, every time.Duration, stretch float64) error {
	alerts, err := load(rules)
	if err != nil {
		return err
	}
	clock := virtual{time.Now(), stretch}
	s := newStore(clock, metricsOf(alerts))
	engine := promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: 30 * time.Second, LookbackDelta: 5 * time.Minute})
	client := &http.Client{Timeout: 5 * time.Second}
	out := json.NewEncoder(os.Stdout)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		addresses, err := readTargets(targets)
		if err != nil {
			return err
		}
		s.scrape(ctx, client, addresses)
		for _, a := range alerts {
			changes, err := a.evaluate(ctx, engine, s, clock.now())
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the program was stopped
			}
			if err != nil {
				return err
			}
			for _, c := range changes {
				if err := out.Encode(c); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// virtual is a clock that runs faster than the real one.
type virtual struct {
	start   time.Time
	stretch float64
}

func (v virtual) now() time.Time {
	return v.start.Add(time.Duration(float64(time.Since(v.start)) * v.stretch))
}

func readTargets(file string) ([]string, error) {
	f, err := os.Open(file) //nolint:gosec // named on the command line
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}

func load(file string) ([]*alert, error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	var out []*alert
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			out = append(out, &alert{name: r.Alert, expr: r.Expr, hold: time.Duration(r.For), keep: time.Duration(r.KeepFiringFor), active: map[string]*active{}})
		}
	}
	return out, nil
}
