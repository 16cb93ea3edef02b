package api_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// TestContractIsDescribed: every tag, operation, parameter, schema and member says what it is.
func TestContractIsDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, tag := range doc.Tags {
		require.NotEmpty(t, tag.Description, tag.Name)
		known[tag.Name] = true
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			require.NotEmpty(t, op.Summary, "%s %s", method, path)
			require.Len(t, op.Tags, 1, "%s %s", method, path)
			require.True(t, known[op.Tags[0]], "%s %s has an unknown tag", method, path)
			for _, p := range op.Parameters {
				require.NotEmpty(t, p.Value.Description, "%s of %s %s", p.Value.Name, method, path)
			}
		}
	}
	members := 0
	for name, s := range doc.Components.Schemas {
		require.NotEmpty(t, s.Value.Description, name)
		members += requireDescribed(t, name, s.Value)
	}
	require.Greater(t, members, 800)
}

// requireDescribed requires a description of every member below a schema, and counts them.
func requireDescribed(t *testing.T, at string, s *openapi3.Schema) int {
	t.Helper()
	members := 0
	for name, p := range s.Properties {
		if p.Ref == "" {
			require.NotEmpty(t, p.Value.Description, "%s.%s", at, name)
			members += 1 + requireDescribed(t, at+"."+name, p.Value)
		}
	}
	if s.Items != nil && s.Items.Ref == "" {
		members += requireDescribed(t, at+"[]", s.Items.Value)
	}
	return members
}
