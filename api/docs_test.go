package api_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPINotes_NameEveryEvent checks that the page lists every event of the audit trail and of webhooks.
func TestAPINotes_NameEveryEvent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/build/api.md")
	require.NoError(t, err)
	events, err := os.ReadFile("../models/event.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`EventName = "([a-z_.]+)"`).FindAllStringSubmatch(string(events), -1)
	require.Greater(t, len(found), 20)
	for _, m := range found {
		require.Contains(t, string(text), "`"+m[1]+"`")
	}
}
