package store_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// subjects maps each file name prefix to the other prefixes that its files may use, in addition to engine.
var subjects = map[string][]string{
	"engine":      {},
	"account":     {},
	"trust":       {},
	"webhook":     {"account"},
	"archive":     {},
	"envelope":    {"account", "webhook", "archive"},
	"template":    {"envelope", "webhook"},
	"embedded":    {"envelope"},
	"bulk":        {"account", "envelope", "template", "webhook"},
	"maintenance": {"webhook", "archive", "bulk"},
}

// TestSubjects checks the structure of the package. Each file must belong to the subject at the beginning of its name,
// use only the subjects listed for its own subject, and have its tests in the file beside it. No type may have more
// than 60 methods.
func TestSubjects(t *testing.T) {
	t.Parallel()
	fset, files := token.NewFileSet(), []*ast.File(nil)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range sources {
		source, isTest := strings.CutSuffix(name, "_test.go")
		if isTest {
			_, err := os.Stat(source + ".go")
			assert.True(t, err == nil || slices.Contains(acrossSubjects, source), "%s tests no file of its name", name)
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	// Other packages are not loaded, because resolving the names of this package does not require them.
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	pkg, _ := config.Check("countersign/store", fset, files, info)

	subjectOf := func(pos token.Pos) string {
		subject, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(fset.Position(pos).Filename), ".go"), "_")
		return subject
	}
	violations, unused := make(map[string]bool), make(map[string][]string)
	for from, allowed := range subjects {
		unused[from] = slices.Clone(allowed)
	}
	for _, f := range files {
		from := subjectOf(f.Pos())
		allowed, known := subjects[from]
		if !known {
			assert.Equal(t, "store", from, "the name of %s does not begin with a subject", fset.Position(f.Pos()).Filename) // store.go combines all subjects
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || info.Uses[id] == nil || info.Uses[id].Pkg() != pkg {
				return true
			}
			to := subjectOf(info.Uses[id].Pos())
			unused[from] = slices.DeleteFunc(unused[from], func(s string) bool { return s == to })
			if to != from && to != "engine" && !slices.Contains(allowed, to) {
				violations[filepath.Base(fset.Position(id.Pos()).Filename)+" uses "+id.Name+" of "+to] = true
			}
			return true
		})
	}
	assert.Empty(t, slices.Sorted(maps.Keys(violations)))
	for from, subjects := range unused {
		assert.Empty(t, subjects, "%s does not use the subjects listed for it", from)
	}
	for _, name := range pkg.Scope().Names() {
		if named, ok := pkg.Scope().Lookup(name).Type().(*types.Named); ok {
			assert.LessOrEqual(t, named.NumMethods(), 60, "methods of %s", name)
			for m := range named.Methods() {
				assert.Equal(t, subjectOf(named.Obj().Pos()), subjectOf(m.Pos()), "%s.%s is declared in a different subject than its type", name, m.Name())
			}
		}
	}
}

// TestRawSQL_IsExplained checks that a comment above each SQL statement explains why GORM does not build it. The
// batches of the envelope engine, which contain SQL for both databases, are exempt.
func TestRawSQL_IsExplained(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	explained := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") || name == "engine_transaction.go" || name == "engine_write_queue.go" { // the driver and GORM's callbacks
			continue
		}
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		lines := strings.Split(string(source), "\n")
		for i, line := range lines {
			if !strings.Contains(line, ".Raw(") && !strings.Contains(line, ".Exec(") {
				continue
			}
			assert.Contains(t, lines[i-1], "// SQL: ", "%s:%d contains raw SQL without a stated reason", name, i+1)
			explained++
		}
	}
	assert.Positive(t, explained)
}

// acrossSubjects lists the test files that test the package as a whole.
var acrossSubjects = []string{"export", "faults", "fixtures", "isolation", "outage", "promises"}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }
