package docs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryAlertHasAnEntry checks that the table in troubleshooting.md describes exactly the alerts in the shipped
// rules.
func TestEveryAlertHasAnEntry(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	require.NoError(t, err)
	page, err := os.ReadFile("run/troubleshooting.md")
	require.NoError(t, err)
	names := func(pattern string, text []byte) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
		return all
	}
	documented := []string{}
	for _, row := range names(`(?m)^\| (`+"`Countersign[^|]*"+`) \|`, page) {
		documented = append(documented, names("`(Countersign[A-Za-z]+)`", []byte(row))...)
	}
	assert.ElementsMatch(t, names(`(?m)^ +- alert: (\w+)$`, rules), documented)
}
