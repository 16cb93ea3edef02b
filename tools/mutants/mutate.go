package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutation is a small change to the code.
type mutation struct {
	id       int
	pkg      string // as listed in suites
	file     string // relative to the root of the repository
	line     int
	function string
	kind     string
	text     string
}

// name returns a name that does not change when lines are added above.
func (m mutation) name() string { return m.file + " " + m.function + " " + m.kind + " " + m.text }

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d %s %s %s", m.file, m.line, m.function, m.kind, m.text)
}

// insertion is text to insert before offset at.
type insertion struct {
	at    int
	order int // of several insertions at one offset, the one with the lower value comes first
	text  string
}

// switches is the source of the package whose functions enable the changes.
const switches = `// Package mutant turns on one of the changes that are compiled into this program.
package mutant

import (
	"os"
	"strconv"
	"sync"
)

var chosen, _ = strconv.Atoi(os.Getenv("MUTANT"))
var seenFile = os.Getenv("MUTANTS_SEEN")
var seen sync.Map

// On reports whether change n is turned on, and notes that it was asked.
func On(n int) bool {
	if seenFile != "" {
		if _, known := seen.LoadOrStore(n, true); !known {
			if f, err := os.OpenFile(seenFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				_, _ = f.WriteString(strconv.Itoa(n) + "\n")
				_ = f.Close()
			}
		}
	}
	return n == chosen
}

// Pick returns b if change n is turned on, else a.
func Pick[T any](n int, a, b T) T {
	if On(n) {
		return b
	}
	return a
}
`

// numbersPerPackage exceeds the number of changes in any package.
const numbersPerPackage = 100_000

// mutate writes changed copies of the packages' files to dir. It returns the changes and the path of the overlay
// file.
func mutate(ctx context.Context, dir string) ([]mutation, string, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, "", err
	}
	var patterns []string
	for _, s := range suites {
		patterns = append(patterns, s.pkg)
	}
	config := &packages.Config{
		Context: ctx, Dir: root,
		// Without NeedDeps, the types of other packages are read from the build cache, which saves seconds and
		// gigabytes.
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, "", err
	}
	overlay := map[string]string{}
	add := func(path, name string, content []byte) error {
		copied := filepath.Join(dir, name)
		overlay[path] = copied
		return os.WriteFile(copied, content, 0o600)
	}
	var all []mutation
	files := 0
	slices.SortFunc(loaded, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	for n, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, "", p.Errors[0]
		}
		// Each package has its own range of mutation numbers, so that changing one package does not alter the test
		// binaries of the others.
		next := n*numbersPerPackage + 1
		for i, f := range p.Syntax {
			path := p.Fset.Position(f.Package).Filename
			source, err := os.ReadFile(path) //nolint:gosec // one of our own source files
			if err != nil {
				return nil, "", err
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return nil, "", err
			}
			m := &mutator{info: p.TypesInfo, fset: p.Fset, source: source, next: next, pkg: "./" + filepath.Dir(relative), file: relative, scope: p.Types}
			m.run(f)
			if len(m.found) == 0 {
				continue
			}
			all, next = append(all, m.found...), m.next
			files++
			if err := add(path, fmt.Sprintf("%d-%d.go", files, i), m.result(f)); err != nil {
				return nil, "", err
			}
		}
	}
	if err := add(filepath.Join(root, "internal/mutant/mutant.go"), "mutant.go", []byte(switches)); err != nil {
		return nil, "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return all, file, os.WriteFile(file, b, 0o600)
}

// mutator finds the changes that can be made to one file.
type mutator struct {
	info     *types.Info
	fset     *token.FileSet
	source   []byte
	scope    *types.Package
	next     int
	pkg      string
	file     string
	function string
	found    []mutation
	edits    []insertion
	order    int
}

func (m *mutator) result(f *ast.File) []byte {
	m.insert(m.offset(f.Name.End()), "\n\nimport \"countersign/internal/mutant\"\n")
	slices.SortStableFunc(m.edits, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out bytes.Buffer
	from := 0
	for _, e := range m.edits {
		out.Write(m.source[from:e.at])
		out.WriteString(e.text)
		from = e.at
	}
	out.Write(m.source[from:])
	return out.Bytes()
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

func (m *mutator) insert(at int, text string) {
	m.order++
	m.edits = append(m.edits, insertion{at, m.order, text})
}

// around inserts text before and after a node. Text that is inserted later around an inner node stays inside.
func (m *mutator) around(n ast.Node, before, after string) {
	m.insert(m.offset(n.Pos()), before)
	m.order++
	m.edits = append(m.edits, insertion{m.offset(n.End()), -m.order, after})
}

// take registers a change and returns its number.
func (m *mutator) take(n ast.Node, kind, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 90 {
		text = text[:90]
	}
	m.found = append(m.found, mutation{m.next, m.pkg, m.file, m.fset.Position(n.Pos()).Line, m.function, kind, text})
	m.next++
	return strconv.Itoa(m.next - 1)
}

func (m *mutator) run(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.function = d.Name.Name
			if d.Body != nil && d.Name.Name != "String" && d.Name.Name != "Error" {
				m.walk(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				m.function = "var"
				m.walk(d)
			}
		}
	}
}

func (m *mutator) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok == token.CONST {
				return false
			}
		case *ast.IfStmt:
			m.guard(n)
		case *ast.BinaryExpr:
			m.binary(n)
		case *ast.BlockStmt:
			m.statements(n.List)
		case *ast.BasicLit:
			m.sql(n)
		case *ast.ArrayType, *ast.ImportSpec, *ast.Field:
			return false
		case *ast.SelectorExpr:
			if m.constant(n, n.Sel) {
				return false
			}
		case *ast.Ident:
			m.constant(n, n)
		}
		return true
	})
}

// guard disables an if statement that returns, by making its condition never true.
func (m *mutator) guard(n *ast.IfStmt) {
	if n.Else != nil || len(n.Body.List) == 0 {
		return
	}
	switch last := n.Body.List[len(n.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		_ = last
	default:
		return
	}
	// An "if err != nil" check is skipped, because the call might not fail in any test.
	if c, ok := n.Cond.(*ast.BinaryExpr); ok && c.Op == token.NEQ && m.text(c.X) == "err" && m.text(c.Y) == "nil" {
		return
	}
	id := m.take(n.Cond, "never", m.text(n.Cond))
	m.around(n.Cond, "!mutant.On("+id+") && (", ")")
}

func (m *mutator) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.LAND, token.LOR:
		keep := "mutant.On(%s) || ("
		if n.Op == token.LOR {
			keep = "!mutant.On(%s) && ("
		}
		for _, side := range []ast.Expr{n.X, n.Y} {
			// Without the nil check, the other side would panic.
			if side == n.X && strings.Contains(m.text(n.X), "nil") {
				continue
			}
			id := m.take(side, "without", m.text(side))
			m.around(side, "("+fmt.Sprintf(keep, id), "))")
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if !simple(n.X) || !simple(n.Y) {
			return
		}
		id := m.take(n, "limit", m.text(n))
		if n.Op == token.LSS || n.Op == token.GTR {
			m.around(n, "(", " || mutant.On("+id+") && ("+m.text(n.X)+") == ("+m.text(n.Y)+"))")
		} else {
			m.around(n, "(", " && !(mutant.On("+id+") && ("+m.text(n.X)+") == ("+m.text(n.Y)+")))")
		}
	default:
	}
}

func simple(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.UnaryExpr:
			ok = false
		case *ast.CallExpr:
			if f, isName := n.Fun.(*ast.Ident); !isName || f.Name != "len" {
				ok = false
			}
		}
		return ok
	})
	return ok
}

var noRule = regexp.MustCompile(`og\.|Logger\(|panic|^failpoint\.`)

// statements removes calls with unused results, and assignments to members. It ignores logging and failpoints,
// because they have no effect that tests should detect.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || noRule.MatchString(m.text(call.Fun)) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok != token.ASSIGN || !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { _, ok := e.(*ast.SelectorExpr); return ok }) ||
				slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { _, ok := e.(*ast.Ident); return ok }) {
				continue
			}
		default:
			continue
		}
		id := m.take(s, "not", m.text(s))
		m.around(s, "if !mutant.On("+id+") { ", " }")
	}
}

var comparison = regexp.MustCompile(`\b([a-z_]+\.)?[a-z_]+ (=|<|>|<=|>=|<>) \?`)

// sql removes a comparison from an SQL statement.
func (m *mutator) sql(n *ast.BasicLit) {
	if n.Kind != token.STRING || !types.Identical(m.info.TypeOf(n), types.Typ[types.String]) {
		return
	}
	text := m.text(n)
	if !strings.Contains(text, "WHERE") && !strings.Contains(text, " = ?") && !strings.Contains(text, " AND ") {
		return
	}
	places := comparison.FindAllStringIndex(text, -1)
	if len(places) == 0 || strings.Contains(text, " SET ") && len(places) == 1 {
		return
	}
	p := places[len(places)-1]
	id := m.take(n, "sql", text[p[0]:p[1]])
	m.around(n, "mutant.Pick("+id+", ", ", "+text[:p[0]]+"("+text[p[0]:p[1]]+" OR 1 = 1)"+text[p[1]:]+")")
}

// constant replaces a named constant with another constant of the same type, or with its half.
func (m *mutator) constant(n ast.Expr, name *ast.Ident) bool {
	c, ok := m.info.Uses[name].(*types.Const)
	if !ok || c.Pkg() == nil || !strings.HasPrefix(c.Pkg().Path(), "countersign/") {
		return false
	}
	named, ok := c.Type().(*types.Named)
	if !ok || !types.Identical(m.info.TypeOf(n), c.Type()) {
		return false
	}
	if named.Obj().Pkg().Path() == "time" {
		id := m.take(n, "half", m.text(n))
		m.around(n, "mutant.Pick("+id+", ", ", "+m.text(n)+"/2)")
		return true
	}
	if named.Obj().Pkg() != c.Pkg() || c.Val().Kind() != constant.String {
		return false
	}
	var same []string
	for _, other := range c.Pkg().Scope().Names() {
		if o, ok := c.Pkg().Scope().Lookup(other).(*types.Const); ok && types.Identical(o.Type(), c.Type()) && (o.Exported() || c.Pkg() == m.scope) {
			same = append(same, other)
		}
	}
	i := slices.Index(same, name.Name)
	if len(same) < 2 || i < 0 {
		return false
	}
	other := strings.TrimSuffix(m.text(n), name.Name) + same[(i+1)%len(same)]
	id := m.take(n, "swapped", m.text(n)+" "+other)
	m.around(n, "mutant.Pick("+id+", ", ", "+other+")")
	return true
}
