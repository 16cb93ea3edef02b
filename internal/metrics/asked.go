package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// askLimit limits the time of the database query.
const askLimit = 3 * time.Second

// askedGauges are gauges whose values are queried at each scrape. If the query fails they are absent, which an alert
// can detect, rather than zero.
type askedGauges struct {
	gauges []*prometheus.Desc
	ask    func(context.Context) ([]float64, error) // a value for each
}

// Describe implements prometheus.Collector.
func (a askedGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range a.gauges {
		ch <- g
	}
}

// Collect implements prometheus.Collector.
func (a askedGauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	values, err := a.ask(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(a.gauges[0], err)
		return
	}
	for i, g := range a.gauges {
		ch <- prometheus.MustNewConstMetric(g, prometheus.GaugeValue, values[i])
	}
}

func gaugeDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, nil, nil)
}

// Outbox shows how much waits to be delivered to Temporal.
func (m *Metrics) Outbox(depth func(context.Context) (rows int64, oldest time.Duration, err error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(askedGauges{[]*prometheus.Desc{
		gaugeDesc("outbox_rows", "Outbox rows that were not delivered to Temporal yet."),
		gaugeDesc("outbox_oldest_age_seconds", "Age of the oldest of them."),
	}, func(ctx context.Context) ([]float64, error) {
		rows, oldest, err := depth(ctx)
		return []float64{float64(rows), max(oldest.Seconds(), 0)}, err
	}})
}

// Unsealed shows how many envelopes cannot be sealed.
func (m *Metrics) Unsealed(count func(context.Context) (int64, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(askedGauges{[]*prometheus.Desc{
		gaugeDesc("unsealed_envelopes", "Envelopes that all have signed and whose documents cannot be sealed."),
	}, func(ctx context.Context) ([]float64, error) {
		n, err := count(ctx)
		return []float64{float64(n)}, err
	}})
}

// Anchor shows when the audit trail was last anchored; the zero time is shown as 0.
func (m *Metrics) Anchor(last func(context.Context) (time.Time, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(askedGauges{[]*prometheus.Desc{
		gaugeDesc("audit_anchor_seconds", "When the audit trail was last time-stamped, in Unix time; 0 for never."),
	}, func(ctx context.Context) ([]float64, error) {
		at, err := last(ctx)
		if at.IsZero() {
			return []float64{0}, err
		}
		return []float64{float64(at.Unix())}, err
	}})
}
