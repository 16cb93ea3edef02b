package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamedPathsExist checks that the documents refer only to existing files. It checks links, paths that begin with a
// directory of the repository, and names of Go, SQL and TypeScript files.
func TestNamedPathsExist(t *testing.T) {
	t.Parallel()
	tracked := make(map[string]bool) // files and directories, relative to the root
	bases := make(map[string]bool)
	var pages []string
	for _, name := range trackedFiles(t) {
		bases[path.Base(name)] = true
		for at := name; at != "."; at = path.Dir(at) {
			tracked[at] = true
		}
		if path.Ext(name) == ".md" && !strings.HasPrefix(name, "web/") && path.Base(name) != "CHANGELOG.md" {
			pages = append(pages, name)
		}
	}
	var (
		link     = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
		rooted   = regexp.MustCompile(`(?:^|[\s"'(\x60=])(?:\./)?((?:[\w.-]+/)+[\w.{},*-]*)`)
		fileName = regexp.MustCompile("`([\\w-]+\\.(?:go|sql|ts|tsx))`")
	)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("..", page))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") || strings.HasPrefix(m[1], "NNNN-") {
				continue
			}
			target := path.Join(path.Dir(page), m[1])
			assert.True(t, tracked[target], "%s links to %s, which does not exist", page, m[1])
		}
		for _, m := range rooted.FindAllStringSubmatch(string(text), -1) {
			name := strings.TrimRight(m[1], "./,")
			first, _, _ := strings.Cut(name, "/")
			if !tracked[first] || strings.ContainsAny(name, "*{}") {
				continue // not a path in the repository, or a pattern
			}
			assert.True(t, tracked[name] || tracked[path.Join(path.Dir(page), name)], "%s refers to %s, which does not exist", page, name)
		}
		for _, m := range fileName.FindAllStringSubmatch(string(text), -1) {
			assert.True(t, bases[m[1]], "%s refers to %s, but no file has that name", page, m[1])
		}
	}
}

// built lists the directories to skip, which contain build output or data.
var built = map[string]bool{".git": true, "bin": true, "data": true, "node_modules": true, "web/dist": true}

// trackedFiles returns the paths of the repository's source files, relative to its root.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() && (built[rel] || built[e.Name()]) {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			names = append(names, rel)
		}
		return nil
	}))
	return names
}
