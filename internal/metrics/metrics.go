// Package metrics provides Prometheus metrics of the service's operations. A nil *Metrics records nothing and costs
// nothing.
package metrics

import (
	"cmp"
	"database/sql"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "countersign"

// Metrics is a registry with all metrics.
type Metrics struct {
	registry *prometheus.Registry
	temporal *temporalMetrics

	requests        *prometheus.CounterVec
	requestSeconds  *prometheus.HistogramVec
	seals           *prometheus.HistogramVec
	deliveries      *prometheus.CounterVec
	deliverySeconds prometheus.Histogram
	mails           *prometheus.CounterVec
	filesMissing    prometheus.Counter
	restarted       *prometheus.CounterVec
}

// New returns a Metrics that includes the metrics of the process and the Go runtime, and the version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		temporal: newTemporalMetrics(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "HTTP requests processed, by route pattern.",
		}, []string{"method", "route", "code"}),
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Help: "Time to process an HTTP request.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route"}),
		seals: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "seal_duration_seconds", Help: "Time to seal one document; result is sealed or failed.",
			Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"result"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "delivery_attempts_total",
			Help: "Webhook delivery attempts; result is delivered, refused (any other status), gone (410) or unreachable.",
		}, []string{"result"}),
		deliverySeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "delivery_duration_seconds", Help: "Duration of one webhook delivery attempt.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "mails_total",
			Help: "Emails and text messages, by kind; result is sent, refused (permanently rejected, or not accepted after days of retries), too_large (resent with links) or failed (will be retried).",
		}, []string{"kind", "result"}),
		filesMissing: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "files_missing_total", Help: "Requests for a document or an archived envelope whose file is missing from the file store or does not match its record.",
		}),
		restarted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "workflows_restarted_total", Help: "Missing workflows started by the schedule reconcile because the database has unfinished work for them.",
		}, []string{"kind"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the label contains the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.requests, m.requestSeconds, m.seals, m.deliveries, m.deliverySeconds, m.mails, m.filesMissing, m.restarted, m.temporal)
	return m
}

// Handler returns a handler that serves all metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2})
}

// Gatherer returns the registry for tests.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Requests returns a function that counts handled requests, or nil for a nil *Metrics. The route is the pattern rather
// than the path, because a path can contain a token.
func (m *Metrics) Requests() func(method, route string, status int, took time.Duration) {
	if m == nil {
		return nil
	}
	return m.request
}

func (m *Metrics) request(method, route string, status int, took time.Duration) {
	route = cmp.Or(route, "other")
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default: // a client can send any method
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.requestSeconds.WithLabelValues(method, route).Observe(took.Seconds())
}

// FileMissing counts a request for a file that is missing or differs from its record.
func (m *Metrics) FileMissing() {
	if m != nil {
		m.filesMissing.Inc()
	}
}

// Restarted counts the workflows of a kind that were missing and have been restarted.
func (m *Metrics) Restarted(kind string, n int) {
	if m != nil {
		m.restarted.WithLabelValues(kind).Add(float64(n))
	}
}

// Database adds the metrics of a connection pool.
func (m *Metrics) Database(db *sql.DB) {
	if m != nil {
		m.registry.MustRegister(collectors.NewDBStatsCollector(db, namespace))
	}
}

// Certificate adds a metric for the expiry of the sealing certificate.
func (m *Metrics) Certificate(notAfter func() time.Time) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "seal_certificate_not_after_seconds", Help: "Expiration time of the sealing certificate, in Unix time.",
	}, func() float64 { return float64(notAfter().Unix()) }))
}
