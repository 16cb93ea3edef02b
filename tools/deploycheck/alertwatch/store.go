package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// job is the job label of every target.
const job = "countersign"

// kept is the retention of samples. It exceeds the longest range in the rules.
const kept = 3 * time.Hour

// store holds the samples of the metrics that the rules use.
type store struct {
	clock virtual
	names map[string]bool

	mu     sync.Mutex
	series map[string]*series
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
	stale   bool
}

func newStore(clock virtual, names map[string]bool) *store {
	return &store{clock: clock, names: names, series: map[string]*series{}}
}

// scrape reads the metrics of every target. A series that no longer exists ends with the staleness marker of
// Prometheus, so that it is absent immediately.
func (s *store) scrape(ctx context.Context, client *http.Client, targets []string) {
	bodies := make([][]byte, len(targets))
	var wg sync.WaitGroup
	for i, target := range targets {
		wg.Go(func() { bodies[i], _ = get(ctx, client, target) }) // a target without a body is down
	}
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.now().UnixMilli()
	present := map[string]bool{}
	for i, target := range targets {
		up := 0.0
		if bodies[i] != nil {
			up = 1
			s.parse(bodies[i], target, at, present)
		}
		s.add(labels.FromStrings("__name__", "up", "instance", target, "job", job), at, up, present)
	}
	for key, x := range s.series {
		if !present[key] && !x.stale {
			x.stale = true
			x.samples = append(x.samples, sample{at, math.Float64frombits(value.StaleNaN)})
		}
		for len(x.samples) > 0 && x.samples[0].T() < at-kept.Milliseconds() {
			x.samples = x.samples[1:]
		}
	}
}

func get(ctx context.Context, client *http.Client, target string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+target+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responded with %s", target, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, 16<<20))
}

func (s *store) parse(body []byte, target string, at int64, present map[string]bool) {
	p := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			return // the remaining lines cannot be parsed and count as absent
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := p.Series()
		var l labels.Labels
		p.Labels(&l)
		name := l.Get("__name__")
		if !s.names[name] {
			continue
		}
		v = s.stretched(name, v)
		s.add(labels.NewBuilder(l).Set("instance", target).Set("job", job).Labels(), at, v, present)
	}
}

// stretched converts the value of a metric to the fast clock. It stretches ages and durations, and shifts points in
// time so that their distance from the current time stays the same.
func (s *store) stretched(name string, v float64) float64 {
	switch {
	case strings.HasSuffix(name, "_age_seconds"), strings.HasSuffix(name, "_duration_seconds_total"):
		return v * s.clock.stretch
	case v > 0 && (strings.HasSuffix(name, "_run_seconds") || strings.HasSuffix(name, "_anchor_seconds") || strings.HasSuffix(name, "_not_after_seconds")):
		return v + time.Until(s.clock.now()).Seconds()
	default:
		return v
	}
}

func (s *store) add(l labels.Labels, at int64, v float64, present map[string]bool) {
	key := l.String()
	present[key] = true
	x := s.series[key]
	if x == nil {
		x = &series{labels: l}
		s.series[key] = x
	}
	x.stale = false
	x.samples = append(x.samples, sample{at, v})
}

// sample implements chunks.Sample.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// Querier implements storage.Queryable.
func (s *store) Querier(mint, maxt int64) (storage.Querier, error) {
	return querier{s, mint, maxt}, nil
}

type querier struct {
	s          *store
	mint, maxt int64
}

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	var found []storage.Series
	for _, x := range q.s.series {
		if !matches(x.labels, matchers) {
			continue
		}
		var in []chunks.Sample
		for _, sample := range x.samples {
			if sample.T() >= q.mint && sample.T() <= q.maxt {
				in = append(in, sample)
			}
		}
		if len(in) > 0 {
			found = append(found, storage.NewListSeries(x.labels, in))
		}
	}
	return &seriesSet{all: found, at: -1}
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// LabelValues implements storage.Querier.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

type seriesSet struct {
	all []storage.Series
	at  int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool { s.at++; return s.at < len(s.all) }

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.all[s.at] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
