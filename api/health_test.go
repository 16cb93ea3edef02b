package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadyz_Purpose_OmitsOtherChecks(t *testing.T) {
	t.Parallel()
	c := &client{t: t, s: onSQLite(t, nil)}
	for query, parts := range map[string][]string{"": {"database", "files", "temporal"}, "?for=uploads": {"database", "files"}, "?for=requests": {"database", "files"}} {
		got := string(c.get("/readyz" + query).want(200).raw)
		for _, part := range []string{"database", "files", "temporal"} {
			if len(parts) == 3 || part != "temporal" {
				require.Contains(t, got, part, query)
			} else {
				require.NotContains(t, got, part, query)
			}
		}
	}
}
