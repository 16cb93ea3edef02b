// Command bench measures the service beside its floor, both in one run: the
// sign call beside a bare transaction of the same rows, envelopes per second
// beside a bare Temporal workflow of the same shape, and what an envelope, a
// start and an idle service cost. It talks to loopback only and ends by itself.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// The sizes of the measurements.
const (
	signCalls  = 150
	envelopes  = 60
	parallel   = 8
	totalLimit = 10 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, totalLimit)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run takes the measurements named in only; none named means all.
func run(ctx context.Context, only []string) error {
	w, err := setUp(ctx)
	if err != nil {
		return err
	}
	defer w.tearDown()
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", w.measureStart},
		{"service", w.startService},
		{"memory", w.measureMemory},
		{"sign", w.measureSign},
		{"throughput", w.measureThroughput},
		{"actions", w.measureActions},
	}
	for _, step := range steps {
		if len(only) > 0 && step.name != "service" && !slices.Contains(only, step.name) {
			continue
		}
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func report(format string, args ...any) {
	fmt.Printf(format+"\n", args...) //nolint:forbidigo // this is what the command is for
}

func now() time.Time { return time.Now() } //nolint:forbidigo // measuring needs the real clock

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[min(int(float64(len(s))*q), len(s)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// discard keeps the SDK's log lines out of the report.
var discard = slog.New(slog.DiscardHandler)
