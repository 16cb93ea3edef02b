// Package docs_test checks that the documents speak of what there is.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamedTestsExist: the list of requirements names a test for each that can
// be tested.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("security.md")
	require.NoError(t, err)
	defined := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func (Test\w+|check\w+)\(`)
	require.NoError(t, filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git" || e.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			defined[m[1]] = true
		}
		return err
	}))
	named := regexp.MustCompile("`((?:Test|check)[A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, named)
	for _, n := range named {
		assert.True(t, defined[n[1]], "%s is named in security.md, but there is none", n[1])
	}
}
