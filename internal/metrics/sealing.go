package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Unsealed shows how many envelopes cannot be sealed, asked anew at each look.
func (m *Metrics) Unsealed(count func(context.Context) (int64, error)) {
	if m != nil {
		m.registry.MustRegister(unsealedCollector(count))
	}
}

var unsealedEnvelopes = prometheus.NewDesc(namespace+"_unsealed_envelopes", "Envelopes that all have signed and whose documents cannot be sealed.", nil, nil)

type unsealedCollector func(context.Context) (int64, error)

// Describe implements prometheus.Collector.
func (unsealedCollector) Describe(ch chan<- *prometheus.Desc) { ch <- unsealedEnvelopes }

// Collect implements prometheus.Collector. Without an answer the figure is absent.
func (u unsealedCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), outboxLimit)
	defer cancel()
	n, err := u(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(unsealedEnvelopes, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(unsealedEnvelopes, prometheus.GaugeValue, float64(n))
}
