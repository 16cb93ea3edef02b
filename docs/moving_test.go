package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestMigrationGuides_NameExistingOperations checks that every call and event on the pages about moving from other
// services is in the contract.
func TestMigrationGuides_NameExistingOperations(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../api/openapi.yaml")
	require.NoError(t, err)
	var contract struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	require.NoError(t, yaml.Unmarshal(b, &contract))
	events := contract.Components.Schemas["WebhookEventName"].Enum
	require.NotEmpty(t, events)
	pages, err := filepath.Glob("build/moving-from-*.md")
	require.NoError(t, err)
	require.Len(t, pages, 4)
	call := regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/v1/[^`]*|/oauth/[^`]*)`")
	event := regexp.MustCompile("`((?:envelope|signer|invitation|reminder|copy|link|document|bulk)\\.[a-z_]+)`")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		calls := call.FindAllStringSubmatch(string(text), -1)
		require.Greater(t, len(calls), 9, page)
		for _, m := range calls {
			require.Contains(t, contract.Paths[m[2]], strings.ToLower(m[1]), "%s: %s", page, m[0])
		}
		for _, m := range event.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, events, m[1], page)
		}
	}
}
