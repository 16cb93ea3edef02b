package api_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// subjects maps each subject of this package to the subjects that it may use. The name of a file begins with its
// subject. All other files belong to the composition, which may use all subjects.
var subjects = map[string][]string{
	"rest":     nil,
	"account":  {"rest"},
	"webhook":  {"rest"},
	"verify":   {"rest"},
	"envelope": {"rest", "account", "webhook"},
	"signing":  {"rest", "account", "envelope"},
	"template": {"rest", "account", "envelope"},
	"bulk":     {"rest", "account", "envelope", "template"},
	"embedded": {"rest", "envelope"},
	"portal":   {"rest", "account", "envelope"},
}

// composition lists the files that belong to no subject.
var composition = []string{"server.go", "handlers.go", "routes.go", "health.go", "contract.go", "catalog.go"}

// withoutSource lists the test files that test the package as a whole or contain no tests.
var withoutSource = []string{
	"contract_promised_test.go", "contract_strictclient_test.go", "subjects_test.go", "harness_test.go", "harness_internal_test.go", "fixtures_test.go", "export_test.go",
}

const maxMethods = 60 // maximum number of methods per type

// TestSubjects checks that files are named after their subject, and that the methods of a handler are in the files of
// its subject. It also checks that a subject uses only the subjects that it may use.
func TestSubjects(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if test, ok := strings.CutSuffix(name, "_test.go"); ok {
			source := strings.TrimSuffix(test, "_internal") + ".go"
			require.True(t, slices.Contains(names, source) || slices.Contains(withoutSource, name), "%s has no source file with the same name", name)
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
		if subjectOf(name) == "" {
			require.Contains(t, composition, name, "the file name does not begin with a subject")
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}} // the declarations of other packages are not needed
	pkg, _ := conf.Check("api", fset, files, info)
	in := func(pos token.Pos) string { return subjectOf(fset.Position(pos).Filename) }

	for _, name := range pkg.Scope().Names() {
		typed, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		named, ok := typed.Type().(*types.Named)
		if !ok {
			continue
		}
		require.LessOrEqual(t, named.NumMethods(), maxMethods, "methods of %s", name)
		if _, ok := named.Underlying().(*types.Struct); !ok || !strings.HasSuffix(name, "Handler") {
			continue
		}
		for m := range named.Methods() {
			require.Equal(t, in(typed.Pos()), in(m.Pos()), "%s.%s is declared in a different subject than %s", name, m.Name(), name)
		}
	}

	var wrong []string
	used := make(map[string]bool)
	for id, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		user, owner := in(id.Pos()), in(object.Pos())
		used[user+" uses "+owner] = true
		if user != "" && user != owner && !slices.Contains(subjects[user], owner) {
			wrong = append(wrong, fmt.Sprintf("%s: %s uses %s of %s", fset.Position(id.Pos()), user, object.Name(), owner))
		}
	}
	slices.Sort(wrong)
	require.Empty(t, wrong)
	for user, owners := range subjects {
		for _, owner := range owners {
			require.True(t, used[user+" uses "+owner], "%s does not use %s: remove the entry", user, owner)
		}
	}
}

// subjectOf returns the subject of a file, or "" if the file belongs to the composition.
func subjectOf(file string) string {
	begin, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".go"), "_")
	if _, ok := subjects[begin]; ok {
		return begin
	}
	return ""
}

// noImports is an importer that returns an empty package for each import.
type noImports struct{}

// Import implements types.Importer.
func (noImports) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
