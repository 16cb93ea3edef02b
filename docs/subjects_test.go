package docs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flatPackages lists the packages whose files are named by subject. The packages api and store have their own
// TestSubjects, which also check the dependencies between subjects.
var flatPackages = []struct {
	dir      string
	subjects []string
	common   []string // files that belong to no subject
	whole    []string // test files that test more than one source file
}{
	{
		dir:      "models",
		subjects: []string{"account", "bulk", "embedded", "envelope", "field", "recipient", "signing", "template", "webhook"},
		common:   []string{"digest.go", "errors.go", "generic.go", "outbox.go", "text.go"},
	},
	{
		dir:      "cmd/countersign",
		subjects: []string{"account", "dev", "doctor", "envelope", "operate", "serve", "setup", "trust", "verify"},
		common:   []string{"clock.go", "clock_failpoints.go", "main.go", "openstore.go"},
		whole:    []string{"doctor_watch_test.go"},
	},
}

// TestSubjects checks that the name of each file in a flat package begins with its subject, and that tests are in the
// file beside their source.
func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, p := range flatPackages {
		paths, err := filepath.Glob(filepath.Join("..", p.dir, "*.go"))
		require.NoError(t, err)
		var names []string
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
		require.NotEmpty(t, names, p.dir)
		for _, name := range names {
			if test, ok := strings.CutSuffix(name, "_test.go"); ok {
				source := strings.TrimSuffix(test, "_internal") + ".go"
				assert.True(t, slices.Contains(names, source) || slices.Contains(p.whole, name), "%s/%s has no source file with the same name", p.dir, name)
				continue
			}
			subject, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
			assert.True(t, slices.Contains(p.subjects, subject) || slices.Contains(p.common, name), "the name of %s/%s does not begin with one of the subjects %v", p.dir, name, p.subjects)
		}
	}
}
