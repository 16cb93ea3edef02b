package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// The duration of the mix, and the number of concurrent clients.
const (
	loadTime, minLoadTime = time.Minute, 20 * time.Second
	soakTime              = 10 * time.Minute
	clients               = 8
)

func (w *benchEnv) measureLoad(ctx context.Context) error { return second(w.mix(ctx, w.length)) }
func (w *benchEnv) measureSoak(ctx context.Context) error { return second(w.mix(ctx, soakTime)) }

func second(_ int, err error) error { return err }

// mix runs clients that each complete one envelope after another for the given time. It prints the durations for each
// endpoint and the resource usage of each process, and returns the number of completed envelopes.
func (w *benchEnv) mix(ctx context.Context, length time.Duration) (int, error) {
	times := newTimings()
	w.client.observe = times.add
	defer func() { w.client.observe = nil }()
	stored, err := w.stored(ctx)
	if err != nil {
		return 0, err
	}
	use, err := w.watch(ctx)
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var failed []error
	done := 0
	start := now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for now().Sub(start) < length && ctx.Err() == nil {
				err := w.whole(ctx)
				mu.Lock()
				if done++; err != nil {
					failed = append(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := now().Sub(start)
	used, err := use.end()
	if err != nil {
		return 0, err
	}
	kept, err := w.stored(ctx)
	if err != nil {
		return 0, err
	}
	alone, err := w.bareWorkflows(ctx, envelopes)
	if err != nil {
		return 0, err
	}
	perSecond, bare := float64(done)/took.Seconds(), envelopes/alone.Seconds()
	report("mix: %d clients for %.0f s             %d two-signer envelopes, %d errors", clients, took.Seconds(), done, len(failed))
	report("envelopes completed per second          %.1f; bare workflows with the same steps %.1f; ratio %.2f", perSecond, bare, perSecond/bare)
	report("%-38s  %8s %9s %9s %9s", "endpoint", "requests", "p50", "p99", "most")
	for _, name := range slices.Sorted(maps.Keys(times.of)) {
		d := times.of[name]
		report("%-38s  %8d %9s %9s %9s", name, len(d), ms(quantile(d, 0.5)), ms(quantile(d, 0.99)), ms(slices.Max(d)))
	}
	report("%-38s  %9s %13s %22s", "process", "cores", "ms, envelope", "own MB in quarter 2, 4")
	for _, u := range used {
		report("%-38s  %9.2f %13.1f %11d %10d", u.name, u.cores, u.cores*1000/perSecond, u.early>>20, u.late>>20)
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		report("%-38s  %8.1f KB per envelope", name, float64(kept[name]-stored[name])/float64(max(done, 1))/1024)
	}
	if len(failed) > 0 {
		return done, fmt.Errorf("%d of %d envelopes failed; first error: %w", len(failed), done, failed[0])
	}
	return done, nil
}

// whole completes one envelope: two signers read and sign it, and the sender waits for the sealed document.
func (w *benchEnv) whole(ctx context.Context) error {
	e, err := w.client.send(ctx)
	if err != nil {
		return err
	}
	for i := range 2 {
		link := "/v1/signing/" + token(e, i)
		steps := []error{
			w.client.do(ctx, "GET", link, "", nil, nil),
			w.client.do(ctx, "GET", link+"/document", "", nil, nil),
			w.client.consent(ctx, e, i),
			w.client.sign(ctx, e, i),
		}
		if err := errors.Join(steps...); err != nil {
			return err
		}
	}
	if _, err := w.client.API.ListEnvelopesWithResponse(ctx, &api.ListEnvelopesParams{TenantID: "bench", PageSize: countersign.Ptr(20)}); err != nil {
		return err
	}
	return w.await(ctx, e)
}

// timings holds the durations of requests by endpoint.
type timings struct {
	mu sync.Mutex
	of map[string][]time.Duration
}

func newTimings() *timings { return &timings{of: make(map[string][]time.Duration)} }

// variable matches the parts of a URL that differ between requests to the same endpoint.
var variable = regexp.MustCompile(`\?.*$|/signing/[^/]+|[0-9a-f]{8}-[0-9a-f-]{27}`)

func (t *timings) add(method, path string, took time.Duration) {
	name := method + " " + variable.ReplaceAllStringFunc(path, func(s string) string {
		switch s[0] {
		case '?':
			return ""
		case '/':
			return "/signing/:token"
		default:
			return ":id"
		}
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[name] = append(t.of[name], took)
}
