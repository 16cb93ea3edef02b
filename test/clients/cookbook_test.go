package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// recipe is a task in docs/build/cookbook.md.
type recipe struct {
	number       int
	title        string
	precondition string            // name of the fixture that the task requires
	code         map[string]string // code by language (sh, go or ts)
	printed      string            // output of the code in every language; … matches any word
}

var (
	heading          = regexp.MustCompile(`^## (?:(\d+)\. )?(.+)$`)
	preconditionLine = regexp.MustCompile(`^<!-- given: (\w+) -->$`)
)

// readCookbook returns the tasks on the page. The first one has the number 0, and contains the code before the first
// numbered task.
func readCookbook(t *testing.T, path string) []*recipe {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []*recipe
	language := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		m, g := heading.FindStringSubmatch(line), preconditionLine.FindStringSubmatch(line)
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && language == "":
			require.NotEmpty(t, fence, "%s: a block without a language", path)
			language = fence
		case isFence:
			language = ""
		case language == "text":
			all[len(all)-1].printed += line + "\n"
		case language != "":
			all[len(all)-1].code[language] += line + "\n"
		case m != nil:
			number, _ := strconv.Atoi(m[1]) // 0 if there is no number
			require.Equal(t, len(all), number, "%s is out of order", line)
			all = append(all, &recipe{number: number, title: m[2], code: map[string]string{}})
		case g != nil:
			all[len(all)-1].precondition = g[1]
		}
	}
	for _, r := range all {
		require.Len(t, r.code, 3, "%s must have one example each for sh, go and ts", r.title)
		require.True(t, r.number == 0 || r.printed != "", "%s has no expected output", r.title)
	}
	return all
}

// matches returns the regular expression that the output of a task must match.
func (r *recipe) matches() *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.printed), "…", `\S+`) + "$")
}

// TestCookbook runs every example in docs/build/cookbook.md, and compares its output with the page.
func TestCookbook(t *testing.T) {
	t.Parallel()
	all := readCookbook(t, "../../docs/build/cookbook.md")
	require.Greater(t, len(all), 20)
	programs := map[string][]string{"sh": shellRecipes(t, all), "go": goRecipes(t, all), "ts": typeScriptRecipes(t, all)}
	f := newFixtures(t)
	for _, r := range all[1:] { //nolint:paralleltest // some of the examples read all events of the app
		for _, language := range []string{"sh", "go", "ts"} {
			t.Run(fmt.Sprintf("%d %s", r.number, language), func(t *testing.T) {
				require.Contains(t, f.makers, r.precondition)
				state := f.makers[r.precondition](t, language)
				cmd := exec.CommandContext(t.Context(), programs[language][0], append(programs[language][1:], strconv.Itoa(r.number))...)
				cmd.Dir = f.dir(t, state.files)
				cmd.Env = append(f.s.env(), state.env...)
				out := runRecipe(t, cmd, r.matches(), state)
				require.Regexp(t, r.matches(), out)
			})
		}
	}
}

// runRecipe runs an example until it ends. An example that does not end on its own is stopped once it has printed the
// expected output.
func runRecipe(t *testing.T, cmd *exec.Cmd, want *regexp.Regexp, state fixture) string {
	t.Helper()
	var out, said kit.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // including its child processes
	if state.whileRunning != nil {
		state.whileRunning(t)
	}
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			require.NoError(t, err, "%s%s", out.String(), said.String())
			return out.String()
		case <-deadline:
			require.FailNow(t, "the program did not exit", "%s%s", out.String(), said.String())
		case <-tick.C:
			if state.whileRunning != nil && want.MatchString(out.String()) {
				return out.String()
			}
		}
	}
}

func shellRecipes(t *testing.T, all []*recipe) []string {
	t.Helper()
	dir := t.TempDir()
	for _, r := range all[1:] {
		script := "set -euo pipefail\n" + all[0].code["sh"] + r.code["sh"]
		require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(r.number)), []byte(script), 0o600))
	}
	return []string{"bash", "-c", `exec bash "` + dir + `/$0"`}
}

// goModule returns a directory with a Go module that uses the client library as described in its README.
func goModule(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	library, err := filepath.Abs("../../clients/go")
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(library, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(library, "go.sum"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module countersign/clients/go", "module example", 1)
	text += "\nrequire countersign/clients/go v0.0.0\n\nreplace countersign/clients/go => " + library + "\n"
	for name, content := range map[string]string{"go.mod": text, "go.sum": string(sum), "main.go": program} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

func buildGo(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", "example", ".")
	cmd.Dir = goModule(t, program)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(cmd.Dir, "example")
}

func goRecipes(t *testing.T, all []*recipe) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range []string{"context", "encoding/json", "errors", "fmt", "io", "net/http", "os", "strings", "time", "github.com/google/uuid", "countersign/clients/go/api"} {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	b.WriteString("\tcountersign \"countersign/clients/go\"\n)\n")
	for _, r := range all[1:] {
		fmt.Fprintf(&b, "\nfunc task%d(ctx context.Context, id uuid.UUID) error {\n%s_ = c\n%s\nreturn nil\n}\n", r.number, all[0].code["go"], r.code["go"])
	}
	b.WriteString("\nvar tasks = map[string]func(context.Context, uuid.UUID) error{\n")
	for _, r := range all[1:] {
		fmt.Fprintf(&b, "\t\"%d\": task%d,\n", r.number, r.number)
	}
	b.WriteString("}\n\nfunc main() {\n\tid, _ := uuid.Parse(os.Getenv(\"ID\"))\n\tif err := tasks[os.Args[1]](context.Background(), id); err != nil {\n\t\tfmt.Fprintln(os.Stderr, err)\n\t\tos.Exit(1)\n\t}\n}\n")
	return []string{buildGo(t, b.String())}
}

// nodePackage returns a directory in which Node finds the client library and its types.
func nodePackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	library, err := filepath.Abs("../../clients/typescript")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(library, "dist/index.js"), `run "make clients" first`)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node_modules/@countersign"), 0o700))
	require.NoError(t, os.Symlink(library, filepath.Join(dir, "node_modules/@countersign/client")))
	require.NoError(t, os.Symlink(filepath.Join(library, "node_modules/@types"), filepath.Join(dir, "node_modules/@types")))
	return dir
}

func typeScriptRecipes(t *testing.T, all []*recipe) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Countersign, CountersignError, expressHandler, type Schemas } from "@countersign/client";
` + all[0].code["ts"] + `const id = env.ID ?? "";
const tasks: Record<string, () => Promise<void>> = {
`)
	for _, r := range all[1:] {
		fmt.Fprintf(&b, "%d: async () => {\n%s},\n", r.number, r.code["ts"])
	}
	b.WriteString("};\nawait tasks[process.argv[2]!]!();\n")
	dir := nodePackage(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tasks.mts"), []byte(b.String()), 0o600))
	compiler, err := filepath.Abs("../../clients/typescript/node_modules/.bin/tsc")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), compiler, "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022",
		"--module", "nodenext", "--types", "node", "--skipLibCheck", "tasks.mts")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return []string{"node", filepath.Join(dir, "tasks.mjs")}
}

// fixture contains everything that an example needs.
type fixture struct {
	env   []string
	files map[string][]byte
	// whileRunning runs while the example is running. The example is stopped once it has printed the expected output.
	whileRunning func(t *testing.T)
}

func contextFor(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
