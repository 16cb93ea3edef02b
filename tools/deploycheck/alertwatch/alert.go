package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// alert is a rule, with its active instances by labels.
type alert struct {
	name, expr string
	hold, keep time.Duration // "for" and "keep_firing_for"
	active     map[string]*active
}

type active struct {
	labels map[string]string
	since  time.Time // when the expression became true
	last   time.Time // when it was last true
	firing bool
}

// evaluate evaluates the expression at the given time, and returns the alerts whose firing state changed.
func (a *alert) evaluate(ctx context.Context, engine *promql.Engine, s *store, at time.Time) ([]change, error) {
	q, err := engine.NewInstantQuery(ctx, s, nil, a.expr, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	defer q.Close()
	found, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	var changes []change
	holds := map[string]bool{}
	for _, sample := range found {
		labels := sample.Metric.Map()
		delete(labels, "__name__")
		key := fmt.Sprint(labels)
		holds[key] = true
		x := a.active[key]
		if x == nil {
			x = &active{labels: labels, since: at}
			a.active[key] = x
		}
		x.last = at
		if !x.firing && at.Sub(x.since) >= a.hold {
			x.firing = true
			changes = append(changes, change{a.name, labels, true, time.Now()})
		}
	}
	for key, x := range a.active {
		if holds[key] || x.firing && at.Sub(x.last) < a.keep {
			continue
		}
		delete(a.active, key)
		if x.firing {
			changes = append(changes, change{a.name, x.labels, false, time.Now()})
		}
	}
	return changes, nil
}

// metricsOf returns the names of the metrics that the expressions use.
func metricsOf(alerts []*alert) map[string]bool {
	names := map[string]bool{}
	for _, a := range alerts {
		e, err := parser.ParseExpr(a.expr)
		if err != nil {
			continue // evaluate reports the error
		}
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				names[v.Name] = true
			}
			return nil
		})
	}
	return names
}
