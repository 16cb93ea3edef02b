// Package watch lists the conditions that operators monitor. The alert rules of deploy/prometheus are generated from
// it, and tests compare the dashboard, the lines of `countersign doctor` and the page on troubleshooting with it.
package watch

import (
	"fmt"
	"strings"
	"time"
)

// Severity is the urgency of a condition.
type Severity string

// The severities of alerts.
const (
	Critical Severity = "critical" // now: users are affected
	Warning  Severity = "warning"  // on the next working day
)

// Condition is one thing that can be wrong.
type Condition struct {
	// Alert is the name of the alert.
	Alert    string
	Severity Severity
	// Meaning is the alert's summary, with Prometheus' templates.
	Meaning string
	// Expr is the alert's expression. It contains the threshold.
	Expr string
	// For is the time for which the expression must hold before the alert fires; Keep is the time for which the alert
	// lasts afterwards.
	For, Keep time.Duration
	// Note explains the expression; most expressions need no explanation.
	Note string
	// Panel is the title of the dashboard's panel that shows the figures of the expression.
	Panel string
	// Check is the line of `countersign doctor` that shows the condition. It is empty if NotChecked has the reason that
	// doctor cannot detect it.
	Check      string
	NotChecked string
}

// runbook is the page that explains each alert.
const runbook = "docs/run/troubleshooting.md#alerts"

// Rules returns the alert rules as Prometheus reads them.
func Rules() string {
	var b strings.Builder
	b.WriteString("# Alerts for Countersign, written from operate/watch (COUNTERSIGN_TEST_UPDATE=1 go test ./operate/watch).\n" +
		"# docs/run/troubleshooting.md says what to do about each.\ngroups:\n  - name: countersign\n    rules:\n")
	for _, c := range Conditions {
		c.write(&b)
	}
	return b.String()
}

func (c Condition) write(b *strings.Builder) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line("      - alert: %s", c.Alert)
	if c.Note != "" {
		line("        # %s", c.Note)
	}
	if strings.Contains(c.Expr, "\n") {
		line("        expr: |\n          %s", strings.ReplaceAll(c.Expr, "\n", "\n          "))
	} else {
		line("        expr: %s", c.Expr)
	}
	if c.For > 0 {
		line("        for: %s", prometheusDuration(c.For))
	}
	if c.Keep > 0 {
		line("        keep_firing_for: %s", prometheusDuration(c.Keep))
	}
	line("        labels: {severity: %s}", c.Severity)
	line("        annotations:\n          summary: %q\n          runbook: %s", c.Meaning, runbook)
}

// prometheusDuration writes whole hours or minutes, as in 1h or 15m.
func prometheusDuration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
