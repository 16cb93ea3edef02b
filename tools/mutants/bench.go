package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// bench runs tests with one change enabled.
type bench struct {
	dir      string
	overlay  string
	program  string              // path of countersign with all changes; empty until a test needs it
	binaries map[string]string   // test binaries by package
	flags    map[string][]string // additional flags of the test binary, by package
	wanted   *regexp.Regexp      // runs only matching tests
	cache    string              // directory of cached explorations, or empty for none
	jobs     int
	own      bool          // runs only the tests of the changed package
	budget   time.Duration // maximum total duration of one package's tests for one change
	runs     atomic.Int64

	mu      sync.Mutex
	tests   map[string][]exploredTest // by package
	noticed map[string]map[string]int // number of detected changes, by file, and by package and test
	failing int                       // number of tests that fail without any change
}

// exploredTest is the result of running one test separately.
type exploredTest struct {
	Name    string
	Took    time.Duration
	Reached []int // IDs of the reached changes, in ascending order
}

func (t exploredTest) reaches(n int) bool {
	_, found := slices.BinarySearch(t.Reached, n)
	return found
}

const (
	// A test counts as hanging if its duration exceeds patience plus five times its usual duration.
	patience = 30 * time.Second
	// explorationLimit limits the duration of one test that runs separately.
	explorationLimit = 5 * time.Minute
	// firstBatch is the duration of the tests in the first process for a change; the duration doubles with each further
	// process.
	firstBatch = 2 * time.Second
	batchTime  = 20 * time.Second // maximum duration of a further process
)

// build compiles the tests of the given packages with all changes.
func (b *bench) build(ctx context.Context, packages []string) error {
	var missing []string
	for _, pkg := range packages {
		if b.binaries[pkg] == "" {
			missing = append(missing, pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Printf("Compiling the tests of %s …\n", strings.Join(missing, ", "))
	// Without debug symbols, linking is faster.
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", b.overlay, "-o", b.dir + string(filepath.Separator)}
	if err := command(ctx, "go", append(args, missing...)...); err != nil {
		return err
	}
	for _, pkg := range missing {
		binary := filepath.Join(b.dir, filepath.Base(pkg)+".test")
		// The flag prevents the package rapid from storing a failure that was caused by a change and replaying it without the
		// change.
		const noFiles = "-rapid.nofailfile"
		if exec.CommandContext(ctx, binary, "-test.list", "^$", noFiles).Run() == nil { //nolint:gosec // built above
			b.flags[pkg] = []string{noFiles}
		}
		if pkg == startsProgram {
			if err := b.buildProgram(ctx); err != nil {
				return err
			}
		}
		b.binaries[pkg] = binary
	}
	return nil
}

// startsProgram is the package whose tests start the program.
const startsProgram = "./test/conformance"

func (b *bench) buildProgram(ctx context.Context) error {
	b.program = filepath.Join(b.dir, "countersign")
	if err := command(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", b.overlay, "-o", b.program, "./cmd/countersign"); err != nil {
		return err
	}
	temporal, err := filepath.Abs("bin/countersign-temporal") // the program expects this file in its own directory
	if err != nil {
		return err
	}
	return os.Symlink(temporal, filepath.Join(b.dir, "countersign-temporal"))
}

func (b *bench) watchers(pkg string) []string {
	if b.own {
		return []string{pkg}
	}
	return suiteOf(pkg).watchers
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // the go command
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// explore runs each test of a package separately, and records its duration and the changes that it reaches. It uses
// cached results if the code is unchanged.
func (b *bench) explore(ctx context.Context, pkg string) error {
	if _, known := b.tests[pkg]; known {
		return nil
	}
	list := exec.CommandContext(ctx, b.binaries[pkg], "-test.list", "^Test") //nolint:gosec // built above
	list.Dir = pkg
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("tests of %s: %w", pkg, err)
	}
	var wanted []string
	for _, test := range strings.Fields(string(out)) {
		if b.wanted.MatchString(test) {
			wanted = append(wanted, test)
		}
	}
	file, err := b.cacheFile(pkg, wanted)
	if err != nil {
		return err
	}
	if b.tests[pkg], err = readExplored(file); err != nil {
		return err
	}
	wanted = slices.DeleteFunc(wanted, func(test string) bool {
		return slices.ContainsFunc(b.tests[pkg], func(t exploredTest) bool { return t.Name == test })
	})
	if len(wanted) == 0 {
		return nil
	}
	fmt.Printf("%s: finding out which of %d tests execute each change …\n", pkg, len(wanted))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(b.jobs)
	for _, test := range wanted {
		group.Go(func() error { return b.exploreTest(inner, pkg, test) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	slices.SortFunc(b.tests[pkg], func(x, y exploredTest) int {
		return cmp.Or(cmp.Compare(x.Took, y.Took), cmp.Compare(x.Name, y.Name))
	})
	return writeExplored(file, b.tests[pkg]) // excluding the failing tests, which run again next time
}

// firstLines returns the beginning of a test's output.
func firstLines(text string) string {
	lines := strings.SplitAfterN(text, "\n", 21)
	return strings.Join(lines[:min(len(lines), 20)], "")
}

func (b *bench) exploreTest(ctx context.Context, pkg, test string) error {
	seen := filepath.Join(b.dir, "seen-"+strconv.FormatInt(b.runs.Add(1), 10))
	var took time.Duration
	var result outcome
	for range 2 { // retry once, because waits can time out on a loaded machine
		began := time.Now()
		var err error
		if result, err = b.run(ctx, pkg, []string{test}, 0, seen); err != nil {
			return err
		}
		took = time.Since(began)
		if result.passed {
			break
		}
	}
	if !result.passed {
		fmt.Printf("%s of %s fails without any change, so it detects nothing:\n%s\n", test, pkg, firstLines(result.output))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failing++
		return nil
	}
	var reached []int
	lines, _ := os.ReadFile(seen) //nolint:gosec // written by the test
	for _, line := range bytes.Fields(lines) {
		if n, err := strconv.Atoi(string(line)); err == nil {
			reached = append(reached, n)
		}
	}
	slices.Sort(reached)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tests[pkg] = append(b.tests[pkg], exploredTest{test, took, slices.Compact(reached)})
	return nil
}

// outcome is the result of a test run.
type outcome struct {
	passed   bool
	timedOut bool
	failed   []string // names of the failed tests, if known
	output   string
}

var (
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: (Test\w+)`)
	runningTest = regexp.MustCompile(`(?m)^\s+(Test\w+)(?:/\S*)? \(`)
)

// run runs some tests of a package with a change enabled, or without a change if n is zero.
func (b *bench) run(ctx context.Context, pkg string, tests []string, n int, seen string) (outcome, error) {
	limit := b.limit(pkg, tests)
	if seen != "" { // the duration is not known yet
		limit = explorationLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	args := append([]string{"-test.run", "^(" + strings.Join(tests, "|") + ")$", "-test.failfast", "-test.timeout", limit.String()}, b.flags[pkg]...)
	cmd := exec.CommandContext(ctx, b.binaries[pkg], args...) //nolint:gosec // built above
	cmd.Dir = pkg
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(n), "MUTANTS_SEEN="+seen, "COUNTERSIGN_TEST_PROGRAM="+b.program,
		"TEMPORAL_DEBUG=1") // disables the deadlock detection, which would misinterpret a busy machine
	out, err := cmd.CombinedOutput()
	result := outcome{passed: err == nil, output: string(out)}
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || strings.Contains(result.output, "panic: test timed out after"):
		result.timedOut, err = true, nil
	case errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay):
		err = nil
	}
	if result.passed {
		return result, err
	}
	pattern := failedTest
	if result.timedOut {
		pattern = runningTest
	}
	for _, match := range pattern.FindAllStringSubmatch(result.output, -1) {
		if slices.Contains(tests, match[1]) && !slices.Contains(result.failed, match[1]) {
			result.failed = append(result.failed, match[1])
		}
	}
	return result, err
}

func (b *bench) limit(pkg string, tests []string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := patience
	for _, t := range b.tests[pkg] {
		if slices.Contains(tests, t.Name) {
			limit += 5 * t.Took
		}
	}
	return limit
}

// try returns the test of a package that detects the change, or an empty string if there is none.
func (b *bench) try(ctx context.Context, m mutation, pkg string) (string, error) {
	for _, batch := range b.batches(pkg, m) {
		test, how, err := b.tryBatch(ctx, m, pkg, batch)
		if err != nil {
			return "", err
		}
		if test != "" {
			b.credit(m, pkg, test)
			return pkg + " " + test + how, nil
		}
	}
	return "", nil
}

// credit records that a test has detected a change, so that it is tried first for other changes in the same file.
func (b *bench) credit(m mutation, pkg, test string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.noticed[m.file] == nil {
		b.noticed[m.file] = map[string]int{}
	}
	b.noticed[m.file][pkg+" "+test]++
}

// batches returns the tests of a package that reach a change, in batches of increasing size. The tests that have
// detected other changes in the file come first, followed by the others, fastest first. According to the recorded
// durations, all batches together take at most the budget.
func (b *bench) batches(pkg string, m mutation) [][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var reaching []exploredTest
	for _, test := range b.tests[pkg] {
		if test.reaches(m.id) {
			reaching = append(reaching, test)
		}
	}
	good := b.noticed[m.file]
	slices.SortStableFunc(reaching, func(x, y exploredTest) int {
		return cmp.Compare(good[pkg+" "+y.Name], good[pkg+" "+x.Name])
	})
	var out [][]string
	var batch []string
	var took, all time.Duration
	limit := firstBatch
	for _, test := range reaching {
		if all += test.Took; all > b.budget && all > test.Took {
			break
		}
		batch, took = append(batch, test.Name), took+test.Took
		if took >= limit {
			out, batch, took, limit = append(out, batch), nil, 0, min(2*limit, batchTime)
		}
	}
	if len(batch) > 0 {
		out = append(out, batch)
	}
	return out
}

// tryBatch returns the test of a batch that detects the change. A failure counts only if it occurs again and does not
// occur without the change, because on a loaded machine a single failure or timeout proves nothing.
func (b *bench) tryBatch(ctx context.Context, m mutation, pkg string, batch []string) (test, how string, err error) {
	for len(batch) > 0 {
		first, err := b.run(ctx, pkg, batch, m.id, "")
		if err != nil || first.passed {
			return "", "", err
		}
		suspects := batch // the test panicked, or exited without reporting which test was running
		for _, test := range batch {
			if slices.Contains(first.failed, test) {
				suspects = []string{test} // one test is sufficient
				break
			}
		}
		again, err := b.run(ctx, pkg, suspects, m.id, "")
		if err != nil {
			return "", "", err
		}
		if !again.passed {
			without, err := b.run(ctx, pkg, suspects, 0, "")
			if err != nil {
				return "", "", err
			}
			if without.passed {
				test = suspects[0]
				if len(again.failed) > 0 {
					test = again.failed[0]
				}
				if again.timedOut {
					how = " (it hangs)"
				}
				return test, how, nil
			}
			fmt.Println("also fails without the change:", pkg, strings.Join(suspects, " "))
		}
		if len(suspects) == len(batch) {
			return "", "", nil
		}
		batch = slices.DeleteFunc(slices.Clone(batch), func(test string) bool { return slices.Contains(suspects, test) })
	}
	return "", "", nil
}
