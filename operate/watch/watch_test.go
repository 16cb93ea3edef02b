package watch_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/operate/watch"
)

const alerts = "../../deploy/prometheus/alerts.yaml"

// TestRules_AreTheShippedAlerts checks that the published file contains exactly one alert for each condition.
func TestRules_AreTheShippedAlerts(t *testing.T) {
	t.Parallel()
	if os.Getenv("COUNTERSIGN_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(alerts, []byte(watch.Rules()), 0o644))
	}
	shipped, err := os.ReadFile(alerts)
	require.NoError(t, err)
	assert.Equal(t, watch.Rules(), string(shipped), "change operate/watch and run this test with COUNTERSIGN_TEST_UPDATE=1")
}

// metric matches the metric names in an expression.
var metric = regexp.MustCompile(`\b(?:countersign|temporal|go_sql)_\w+|\bup\b`)

// TestConditions_AreOnTheDashboard checks that the dashboard has a panel for each condition, and that the panel shows
// the metrics of the condition's expression.
func TestConditions_AreOnTheDashboard(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../deploy/grafana/countersign.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(file, &dashboard))
	shown := map[string]map[string]bool{} // metrics by panel
	for _, p := range dashboard.Panels {
		shown[p.Title] = map[string]bool{}
		for _, target := range p.Targets {
			for _, name := range metric.FindAllString(target.Expr, -1) {
				shown[p.Title][name] = true
			}
		}
	}
	for _, c := range watch.Conditions {
		if !assert.Contains(t, shown, c.Panel, "%s: the dashboard has no panel %q", c.Alert, c.Panel) {
			continue
		}
		for _, name := range metric.FindAllString(c.Expr, -1) {
			assert.True(t, shown[c.Panel][name], "%s: the panel %q does not show %s", c.Alert, c.Panel, name)
		}
	}
}

// TestConditions_AreComplete checks that each condition has all required members, and that either doctor checks it or
// it states why doctor cannot.
func TestConditions_AreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range watch.Conditions {
		assert.False(t, seen[c.Alert], "%s occurs twice", c.Alert)
		seen[c.Alert] = true
		assert.NotEmpty(t, c.Meaning, c.Alert)
		assert.NotEmpty(t, metric.FindAllString(c.Expr, -1), "%s does not refer to a metric", c.Alert)
		assert.Contains(t, []watch.Severity{watch.Critical, watch.Warning}, c.Severity, c.Alert)
		assert.NotEqual(t, c.Check == "", c.NotChecked == "", "%s must name a line of doctor, or state why there is none", c.Alert)
	}
}
