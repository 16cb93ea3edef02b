package forgeries_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumented checks that docs/learn/attacks.md has one line for each class of forgeries.
func TestDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/learn/attacks.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(b), "\n## Known attacks\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, coded []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && !strings.Contains(line, "---") {
			documented = append(documented, strings.TrimSpace(cells[1]))
		}
	}
	for _, f := range all() {
		if !slices.Contains(coded, f.class) {
			coded = append(coded, f.class)
		}
	}
	require.NotEmpty(t, documented)
	slices.Sort(coded)
	documented = documented[1:] // skip the heading
	slices.Sort(documented)
	require.Equal(t, coded, documented)
}
