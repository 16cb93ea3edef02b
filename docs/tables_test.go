package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTables_BeginWithAHeader checks that every table has a header and a delimiter row. A blank line within a table
// ends it, and the remaining rows are then displayed as text.
func TestTables_BeginWithAHeader(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range trackedFiles(t) {
		if path.Ext(page) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", page))
		require.NoError(t, err)
		code, inTable := false, false
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			row := !code && strings.HasPrefix(line, "|")
			if row && !inTable {
				checked++
				assert.True(t, i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--"), "%s:%d begins a table without a header", page, i+1)
			}
			inTable = row
		}
	}
	require.Greater(t, checked, 50)
}
