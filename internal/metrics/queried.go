package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// queryTimeout limits the duration of the database query.
const queryTimeout = 3 * time.Second

// queriedGauges is a set of gauges whose values are queried at each scrape. If the query fails, the gauges are absent
// rather than zero, so that an alert can detect the failure.
type queriedGauges struct {
	gauges []*prometheus.Desc
	query  func(context.Context) ([]float64, error) // returns one value for each gauge
}

// Describe implements prometheus.Collector.
func (a queriedGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range a.gauges {
		ch <- g
	}
}

// Collect implements prometheus.Collector.
func (a queriedGauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	values, err := a.query(ctx)
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

// Outbox adds metrics for the outbox rows that have not yet been delivered to Temporal.
func (m *Metrics) Outbox(depth func(context.Context) (rows int64, oldest time.Duration, err error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(queriedGauges{[]*prometheus.Desc{
		gaugeDesc("outbox_rows", "Outbox rows not yet delivered to Temporal."),
		gaugeDesc("outbox_oldest_age_seconds", "Age of the oldest outbox row not yet delivered to Temporal."),
	}, func(ctx context.Context) ([]float64, error) {
		rows, oldest, err := depth(ctx)
		return []float64{float64(rows), max(oldest.Seconds(), 0)}, err
	}})
}

// Unsealed adds a metric for the number of envelopes that cannot be sealed.
func (m *Metrics) Unsealed(count func(context.Context) (int64, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(queriedGauges{[]*prometheus.Desc{
		gaugeDesc("unsealed_envelopes", "Fully signed envelopes whose documents cannot be sealed."),
	}, func(ctx context.Context) ([]float64, error) {
		n, err := count(ctx)
		return []float64{float64(n)}, err
	}})
}

// Lag contains the amounts of overdue work of all apps.
type Lag struct {
	Overdue, Sealing, Deliveries, Purges, Lost int64
	Reconciled                                 time.Time // the zero time if it has never run
}

// Lag adds metrics for the amounts of overdue work.
func (m *Metrics) Lag(count func(context.Context) (Lag, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(queriedGauges{[]*prometheus.Desc{
		gaugeDesc("overdue_envelopes", "Envelopes still open more than 2 minutes after their deadline."),
		gaugeDesc("sealing_late_envelopes", "Envelopes still not sealed 5 minutes after the last signature."),
		gaugeDesc("late_deliveries", "Webhook deliveries whose next attempt was due more than 5 minutes ago, at most 10000."),
		gaugeDesc("late_purges", "Envelopes whose files should have been purged more than 2 hours ago."),
		gaugeDesc("lost_workflows", "Missing workflows that the last run of the schedule reconcile found and started."),
		gaugeDesc("reconcile_run_seconds", "Completion time of the last run of the schedule reconcile, in Unix time; 0 if it never ran."),
	}, func(ctx context.Context) ([]float64, error) {
		lag, err := count(ctx)
		return []float64{float64(lag.Overdue), float64(lag.Sealing), float64(lag.Deliveries), float64(lag.Purges), float64(lag.Lost), unixTime(lag.Reconciled)}, err
	}})
}

// unixTime returns a time in Unix seconds, or 0 for the zero time.
func unixTime(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}

// Anchor adds a metric for the time at which the audit trail was last anchored. The zero time is exported as 0.
func (m *Metrics) Anchor(last func(context.Context) (time.Time, error)) {
	if m == nil {
		return
	}
	m.registry.MustRegister(queriedGauges{[]*prometheus.Desc{
		gaugeDesc("audit_anchor_seconds", "Time of the last time-stamp of the audit trail, in Unix time; 0 if there is none."),
	}, func(ctx context.Context) ([]float64, error) {
		at, err := last(ctx)
		return []float64{unixTime(at)}, err
	}})
}
