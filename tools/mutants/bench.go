package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench runs the tests with one change turned on.
type bench struct {
	dir      string
	overlay  string
	program  string                             // countersign with all changes in it
	binaries map[string]string                  // test binary by package
	reached  map[string]map[string]map[int]bool // changes that a package's test reaches
}

const (
	oneTest  = 3 * time.Minute // a change that makes a test hang is noticed after it
	perBatch = 40              // tests that one process runs
)

// build compiles what the chosen changes need, and notes which tests reach them.
func (b *bench) build(ctx context.Context, chosen []mutation) error {
	b.program = filepath.Join(b.dir, "countersign")
	if err := command(ctx, "go", "build", "-overlay", b.overlay, "-o", b.program, "./cmd/countersign"); err != nil {
		return err
	}
	temporal, err := filepath.Abs("bin/countersign-temporal") // it is looked for beside the program
	if err != nil {
		return err
	}
	if err := os.Symlink(temporal, filepath.Join(b.dir, "countersign-temporal")); err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, m := range chosen {
		for _, w := range watchers(m.pkg) {
			needed[w] = true
		}
	}
	for pkg := range needed {
		binary := filepath.Join(b.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
		if err := command(ctx, "go", "test", "-c", "-vet=off", "-overlay", b.overlay, "-o", binary, pkg); err != nil {
			return err
		}
		b.binaries[pkg] = binary
		if err := b.explore(ctx, pkg); err != nil {
			return err
		}
	}
	return nil
}

func watchers(pkg string) []string {
	i := slices.IndexFunc(suites, func(s suite) bool { return s.pkg == pkg })
	return suites[i].watchers
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // the go command
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// explore runs each test of a package alone and notes the changes that it reaches.
func (b *bench) explore(ctx context.Context, pkg string) error {
	list := exec.CommandContext(ctx, b.binaries[pkg], "-test.list", "^Test") //nolint:gosec // built above
	list.Dir = pkg
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("tests of %s: %w", pkg, err)
	}
	b.reached[pkg] = map[string]map[int]bool{}
	fmt.Printf("%s: which of its tests reach which change …\n", pkg)
	for _, test := range strings.Fields(string(out)) {
		seen := filepath.Join(b.dir, "seen")
		_ = os.Remove(seen)
		passed, output, err := b.test(ctx, pkg, []string{test}, 0, seen)
		if err == nil && !passed { // once more: a loaded machine makes a wait run out
			passed, output, err = b.test(ctx, pkg, []string{test}, 0, seen)
		}
		if err != nil {
			return err
		}
		if !passed {
			return fmt.Errorf("%s fails without any change in %s:\n%s", test, pkg, output)
		}
		reached := map[int]bool{}
		lines, _ := os.ReadFile(seen) //nolint:gosec // written by the test
		for _, line := range bytes.Fields(lines) {
			if n, err := strconv.Atoi(string(line)); err == nil {
				reached[n] = true
			}
		}
		b.reached[pkg][test] = reached
	}
	return nil
}

// test runs some tests of a package with a change turned on.
func (b *bench) test(ctx context.Context, pkg string, tests []string, n int, seen string) (passed bool, output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, oneTest+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.binaries[pkg], "-test.run", "^("+strings.Join(tests, "|")+")$", "-test.failfast", //nolint:gosec // built above
		"-test.timeout", oneTest.String())
	cmd.Dir = pkg
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(n), "MUTANTS_SEEN="+seen, "COUNTERSIGN_TEST_PROGRAM="+b.program)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, string(out), nil
	}
	return err == nil, string(out), err
}

// try returns the first package whose tests notice the change; "" if none does.
func (b *bench) try(ctx context.Context, m mutation) (string, error) {
	for _, pkg := range watchers(m.pkg) {
		var tests []string
		for test, reached := range b.reached[pkg] {
			if reached[m.id] {
				tests = append(tests, test)
			}
		}
		slices.Sort(tests)
		for batch := range slices.Chunk(tests, perBatch) {
			passed, _, err := b.test(ctx, pkg, batch, m.id, "")
			if err != nil {
				return "", err
			}
			if !passed {
				return pkg, nil
			}
		}
	}
	return "", nil
}
