package metrics

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// Temporal returns a handler for the metrics of the Temporal SDK, or nil for a nil *Metrics.
func (m *Metrics) Temporal() client.MetricsHandler {
	if m == nil {
		return nil
	}
	return temporalHandler{all: m.temporal}
}

// temporalMetrics contains the metrics of the Temporal SDK. The SDK uses the same name with different sets of tags, so
// there is a separate vector for each combination of a name and a set of tags. Vectors are described only when they are
// collected.
type temporalMetrics struct {
	mu         sync.RWMutex
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
}

func newTemporalMetrics() *temporalMetrics {
	return &temporalMetrics{
		counters: make(map[string]*prometheus.CounterVec), gauges: make(map[string]*prometheus.GaugeVec),
		histograms: make(map[string]*prometheus.HistogramVec),
	}
}

// Describe implements prometheus.Collector.
func (*temporalMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (t *temporalMetrics) Collect(ch chan<- prometheus.Metric) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, v := range t.counters {
		v.Collect(ch)
	}
	for _, v := range t.gauges {
		v.Collect(ch)
	}
	for _, v := range t.histograms {
		v.Collect(ch)
	}
}

// temporalHandler implements client.MetricsHandler.
type temporalHandler struct {
	all  *temporalMetrics
	tags map[string]string
}

// WithTags implements client.MetricsHandler.
func (h temporalHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := make(map[string]string, len(h.tags)+len(tags))
	maps.Copy(all, h.tags)
	maps.Copy(all, tags)
	return temporalHandler{all: h.all, tags: all}
}

// Counter implements client.MetricsHandler.
func (h temporalHandler) Counter(name string) client.MetricsCounter {
	v := vector(h, h.all.counters, name, func(o prometheus.Opts, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(o), labels)
	})
	return counter{v.With(h.tags)}
}

// Gauge implements client.MetricsHandler.
func (h temporalHandler) Gauge(name string) client.MetricsGauge {
	v := vector(h, h.all.gauges, name, func(o prometheus.Opts, labels []string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts(o), labels)
	})
	return gauge{v.With(h.tags)}
}

// Timer implements client.MetricsHandler.
func (h temporalHandler) Timer(name string) client.MetricsTimer {
	v := vector(h, h.all.histograms, name+"_seconds", func(o prometheus.Opts, labels []string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: o.Name, Help: o.Help, Buckets: []float64{.005, .025, .1, .5, 1, 5, 30, 120},
		}, labels)
	})
	return timer{v.With(h.tags)}
}

// vector returns the vector for a name and the handler's tags, and creates it if necessary.
func vector[V any](h temporalHandler, known map[string]V, name string, create func(prometheus.Opts, []string) V) V {
	labels := slices.Sorted(maps.Keys(h.tags))
	key := name + " " + strings.Join(labels, " ")
	h.all.mu.RLock()
	v, ok := known[key]
	h.all.mu.RUnlock()
	if ok {
		return v
	}
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	if v, ok := known[key]; ok {
		return v
	}
	v = create(prometheus.Opts{Name: name, Help: "Reported by the Temporal SDK."}, labels)
	known[key] = v
	return v
}

type counter struct{ prometheus.Counter }

// Inc implements client.MetricsCounter.
func (c counter) Inc(n int64) { c.Add(float64(n)) }

type gauge struct{ prometheus.Gauge }

// Update implements client.MetricsGauge.
func (g gauge) Update(v float64) { g.Set(v) }

type timer struct{ prometheus.Observer }

// Record implements client.MetricsTimer.
func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }
