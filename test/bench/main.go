// Command bench measures the service, and compares it with a lower bound measured in the same run. It compares the sign
// call with a bare transaction that writes the same rows, and completed envelopes per second with a bare Temporal
// workflow of the same shape. It also measures the cost of an envelope, of starting the service, and of an idle
// service. On request, it measures the effects of a steady load, a burst, a backlog, a bulk send, and a mail server and
// endpoint that hang. It connects only to loopback addresses and requires no interaction.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"countersign/models"
)

// Parameters of the measurements.
const (
	signCalls  = 150
	envelopes  = 240 // number of completed envelopes and of bare workflows; the two alternate
	turns      = 4
	parallel   = 8
	totalLimit = 40 * time.Minute

	throughputRatio = 0.75

	minRows, defaultRows = 100, 1000
)

// options contains the command-line options.
type options struct {
	program  string        // path of the service; the bundled Temporal is in the same directory
	rows     int           // number of rows of a bulk send
	length   time.Duration // duration of the mix in load and profile
	profiles string        // directory for profiles, or empty for none
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/countersign", "path of the program to measure")
	flag.IntVar(&o.rows, "rows", defaultRows, fmt.Sprintf("number of rows of a bulk send, %d to %d", minRows, models.MaxBulkRows))
	flag.DurationVar(&o.length, "time", loadTime, fmt.Sprintf("duration of the mix in load and profile, at least %s", minLoadTime))
	flag.StringVar(&o.profiles, "profiles", "bin/profiles", "directory to which profile writes its files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, totalLimit)
	defer cancel()
	if err := run(ctx, o, flag.Args()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// step is one measurement.
type step struct {
	name string
	load bool // runs only if selected, with Temporal on PostgreSQL
	do   func(*benchEnv, context.Context) error
}

func steps() []step {
	return []step{
		{"start", false, (*benchEnv).measureStart},
		{"service", false, (*benchEnv).startService}, // always runs, because the other steps depend on it
		{"memory", false, (*benchEnv).measureMemory},
		{"sign", false, (*benchEnv).measureSign},
		{"throughput", false, (*benchEnv).measureThroughput},
		{"actions", false, (*benchEnv).measureActions},
		{"pages", true, (*benchEnv).measurePages},
		{"send", true, (*benchEnv).measureSend},
		{"bulk", true, (*benchEnv).measureBulk},
		{"load", true, (*benchEnv).measureLoad},
		{"profile", true, (*benchEnv).measureProfile},
		{"soak", true, (*benchEnv).measureSoak},
		{"burst", true, (*benchEnv).measureBurst},
		{"backlog", true, (*benchEnv).measureBacklog},
		{"hang", true, (*benchEnv).measureHang},
	}
}

// run runs the selected measurements. If none are selected, it runs all measurements except the loads.
func run(ctx context.Context, o options, only []string) error {
	if o.rows < minRows || o.rows > models.MaxBulkRows {
		return fmt.Errorf("-rows must be between %[2]d and %[3]d; got %[1]d", o.rows, minRows, models.MaxBulkRows)
	}
	if o.length < minLoadTime {
		return fmt.Errorf("-time must be at least %[2]s; got %[1]s", o.length, minLoadTime)
	}
	all := steps()
	for _, name := range only {
		if !slices.ContainsFunc(all, func(s step) bool { return s.name == name }) {
			return fmt.Errorf("unknown measurement %q", name)
		}
	}
	loads := slices.ContainsFunc(all, func(s step) bool { return s.load && slices.Contains(only, s.name) })
	if !slices.Contains(only, "profile") {
		o.profiles = ""
	}
	w, err := setUp(ctx, o, loads)
	if err != nil {
		return err
	}
	defer w.tearDown()
	for _, s := range all {
		wanted := slices.Contains(only, s.name) || len(only) == 0 && !s.load
		if !wanted && s.name != "service" {
			continue
		}
		if err := s.do(w, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func report(format string, args ...any) {
	fmt.Printf(format+"\n", args...) //nolint:forbidigo // the report is the command's output
}

func now() time.Time { return time.Now() } //nolint:forbidigo // measurements need the real clock

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[min(int(float64(len(s))*q), len(s)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// discard keeps the SDK's log messages out of the report.
var discard = slog.New(slog.DiscardHandler)
