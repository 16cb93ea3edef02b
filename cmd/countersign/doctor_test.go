package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/operate/watch"
)

// TestDoctor_ChecksEveryAlertCondition checks that doctor reports on each alert condition that it can check.
func TestDoctor_ChecksEveryAlertCondition(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("doctor*.go")
	require.NoError(t, err)
	lines := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			var first ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr: // a call such as x.ok(check, …)
				if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "ok" && len(n.Args) > 0 {
					first = n.Args[0]
				}
			case *ast.CompositeLit: // a table row such as {check, …}
				if len(n.Elts) > 0 && n.Type == nil {
					first = n.Elts[0]
				}
			}
			if name, ok := first.(*ast.BasicLit); ok && name.Kind == token.STRING {
				check, err := strconv.Unquote(name.Value)
				require.NoError(t, err)
				lines[check] = true
			}
			return true
		})
	}
	require.Greater(t, len(lines), 10)
	for _, c := range watch.Conditions {
		if c.Check != "" {
			assert.True(t, lines[c.Check], "the output of doctor has no line %q for %s", c.Check, c.Alert)
		}
	}
}
