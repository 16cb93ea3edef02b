// Package watch lists the conditions that operators monitor. The alert rules in deploy/prometheus are generated from
// the list, and tests compare the list with the dashboard, the output of `countersign doctor` and the troubleshooting
// page.
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
	Critical Severity = "critical" // requires immediate action: users are affected
	Warning  Severity = "warning"  // requires action on the next working day
)

// Condition is a problem that can be detected.
type Condition struct {
	// Alert is the name of the alert.
	Alert    string
	Severity Severity
	// Meaning is the summary of the alert. It may contain Prometheus templates.
	Meaning string
	// Expr is the alert's expression, including the threshold.
	Expr string
	// For is the time for which the expression must be true before the alert fires. KeepFiringFor is the time for which
	// the alert continues to fire afterwards.
	For, KeepFiringFor time.Duration
	// Note explains the expression. Most expressions need no explanation.
	Note string
	// Panel is the title of the dashboard panel that shows the metrics of the expression.
	Panel string
	// Check is the output line of `countersign doctor` that shows the condition. If doctor cannot detect the
	// condition, Check is empty and NotChecked contains the reason.
	Check      string
	NotChecked string
}

// runbook is the path of the page that explains the alerts.
const runbook = "docs/run/troubleshooting.md#alerts"

// Rules returns the alert rules in Prometheus format.
func Rules() string {
	var b strings.Builder
	b.WriteString("# Alerts for Countersign, generated from operate/watch (COUNTERSIGN_TEST_UPDATE=1 go test ./operate/watch).\n" +
		"# For the response to each alert, see docs/run/troubleshooting.md.\ngroups:\n  - name: countersign\n    rules:\n")
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
	if c.KeepFiringFor > 0 {
		line("        keep_firing_for: %s", prometheusDuration(c.KeepFiringFor))
	}
	line("        labels: {severity: %s}", c.Severity)
	line("        annotations:\n          summary: %q\n          runbook: %s", c.Meaning, runbook)
}

// prometheusDuration formats a duration in whole hours or minutes, such as 1h or 15m.
func prometheusDuration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
