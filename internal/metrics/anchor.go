package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Anchor shows when the audit trail was last anchored, asked anew at each look;
// the zero time is shown as 0.
func (m *Metrics) Anchor(last func(context.Context) (time.Time, error)) {
	if m != nil {
		m.registry.MustRegister(anchorCollector(last))
	}
}

var anchorTime = prometheus.NewDesc(namespace+"_audit_anchor_seconds", "When the audit trail was last time-stamped, in Unix time; 0 for never.", nil, nil)

type anchorCollector func(context.Context) (time.Time, error)

// Describe implements prometheus.Collector.
func (anchorCollector) Describe(ch chan<- *prometheus.Desc) { ch <- anchorTime }

// Collect implements prometheus.Collector.
func (a anchorCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), outboxLimit)
	defer cancel()
	at, err := a(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(anchorTime, err)
		return
	}
	v := 0.0
	if !at.IsZero() {
		v = float64(at.Unix())
	}
	ch <- prometheus.MustNewConstMetric(anchorTime, prometheus.GaugeValue, v)
}
