package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// qualifiedName matches an exported name with its package, such as store.Change.
	qualifiedName = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	// goName matches text that can only be a name in Go code: a test, or a name with an inner capital that is in
	// backquotes or after "see".
	goName = regexp.MustCompile("\\b((?:Test|Benchmark|Fuzz)[A-Z]\\w+)|(?:\\b[Ss]ee |`)(\\w*[a-z][A-Z]\\w*)\\b")
)

// goFile contains the names and comments in a Go file.
type goFile struct {
	name, pkg string
	imports   map[string]string // import paths, by their last element
	comments  []string          // empty for a generated file
}

// TestNamesInCommentsExist checks that comments refer only to existing names: exported names of this project's
// packages, tests, and names after "see".
func TestNamesInCommentsExist(t *testing.T) {
	t.Parallel()
	var files []goFile
	everywhere, packages := make(map[string]bool), make(map[string]map[string]bool) // names used in code
	for _, name := range trackedFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		f, names := readGoFile(t, name)
		files = append(files, f)
		if packages[f.pkg] == nil {
			packages[f.pkg] = make(map[string]bool)
		}
		for _, n := range names {
			everywhere[n], packages[f.pkg][n] = true, true
		}
	}
	for _, f := range files {
		for _, comment := range f.comments {
			for _, m := range qualifiedName.FindAllStringSubmatch(comment, -1) {
				known, ours := packages[m[1]]
				if imported, ok := f.imports[m[1]]; ok && !strings.HasPrefix(imported, "countersign/") {
					continue // another package with the same name
				}
				assert.True(t, !ours || known[m[2]], "%s: a comment refers to %s, which does not exist", f.name, m[0])
			}
			for _, m := range goName.FindAllStringSubmatch(comment, -1) {
				assert.True(t, everywhere[m[1]+m[2]], "%s: a comment refers to %s, which does not exist", f.name, m[1]+m[2])
			}
		}
	}
}

// readGoFile parses a file, and returns all names in its code.
func readGoFile(t *testing.T, name string) (f goFile, names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	f = goFile{name: name, pkg: strings.TrimSuffix(parsed.Name.Name, "_test"), imports: make(map[string]string)}
	for _, i := range parsed.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		f.imports[path.Base(imported)] = imported
	}
	if !ast.IsGenerated(parsed) {
		for _, c := range parsed.Comments {
			f.comments = append(f.comments, c.Text())
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return f, names
}
