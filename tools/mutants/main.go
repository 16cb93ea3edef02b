// Command mutants makes small changes to the code, one at a time, and reports the changes that no test detects.
//
// All changes are compiled into the test binaries at once, each behind a switch that an environment variable enables. A
// change therefore needs no build, and only the tests that reach it are run. The sources are not modified, because the
// compiler receives the changed copies as an overlay.
//
//	mutants -count 155 -seed 1 -time 40m -accepted test/mutants.txt
//
// A change is one of the following:
//   - The condition of an if statement is never true.
//   - One side of && or || is omitted.
//   - < is replaced with <=, or similar.
//   - A named constant is replaced with its neighbor of the same type, or with its half.
//   - A comparison is omitted from an SQL statement.
//   - A statement is omitted.
//
// Changes in the file of accepted changes are not counted. Each of them is listed with the reason why it has no
// relevant effect. A change is detected if a test fails or hangs in two runs with the change, and not in a run without
// it. The exit status is 1 if the percentage of detected changes is below -goal.
//
// Changes are tried first with the tests of the changed package, and then with the tests of packages that use it. The
// changes that each test reaches are determined once for each package that is needed, and cached in the directory
// -cache until the code changes.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// suites lists the packages to change, each with the packages whose tests should detect the changes, fastest first.
// When changes are chosen, the packages of one group count as one.
//
//nolint:gochecknoglobals // a table
var suites = []suite{
	{"models", "./models", []string{"./models", "./store", "./api", "./activities", "./test/conformance"}},
	{"store", "./store", []string{"./store", "./api", "./activities", "./test/conformance"}},
	{"api", "./api", []string{"./api", "./test/conformance"}},
	{"activities", "./activities", []string{"./activities", "./workflows", "./api"}},
	{"seal", "./seal", []string{"./seal", "./test/sealing", "./test/forgeries"}},
	{"seal", "./seal/admission", []string{"./seal/admission", "./test/sealing", "./test/forgeries"}},
	{"seal", "./seal/manifest", []string{"./seal/manifest", "./seal", "./test/sealing", "./test/forgeries"}},
	{"seal", "./seal/picture", []string{"./seal/picture", "./seal", "./test/sealing"}},
	{"seal", "./seal/sealkey", []string{"./seal/sealkey", "./seal", "./test/sealing"}},
	{"seal", "./seal/verify", []string{"./seal/verify", "./test/sealing", "./test/forgeries"}},
	{"cms", "./seal/cms", []string{"./seal/cms", "./seal", "./test/sealing", "./test/forgeries"}},
	{"credential", "./internal/credential", []string{"./internal/credential", "./api"}},
}

type suite struct {
	group    string
	pkg      string
	watchers []string
}

func suiteOf(pkg string) suite {
	return suites[slices.IndexFunc(suites, func(s suite) bool { return s.pkg == pkg })]
}

type options struct {
	count    int
	seed     uint64
	limit    time.Duration
	goal     float64
	accepted string
	only     string
	list     bool
	mend     bool
	run      string
	jobs     int
	own      bool
	budget   time.Duration
	cache    string
}

func main() {
	var o options
	flag.IntVar(&o.count, "count", 155, "number of changes to try, selected evenly from the packages; 0 selects all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random selection")
	flag.DurationVar(&o.limit, "time", time.Hour, "time limit; changes not tried are reported")
	flag.DurationVar(&o.budget, "budget", 2*time.Minute, "maximum total duration of one package's tests for one change, according to their durations when run separately; the fastest tests are preferred")
	flag.Float64Var(&o.goal, "goal", 90, "minimum percentage of detected changes")
	flag.StringVar(&o.accepted, "accepted", "test/mutants.txt", "file with the changes that no test has to detect, with reasons")
	flag.StringVar(&o.only, "only", "", "try only changes whose name contains this string")
	flag.BoolVar(&o.list, "list", false, "only list the changes")
	flag.BoolVar(&o.mend, "mend", false, "only rewrite entries of the accepted file whose change moved to another file or function")
	flag.StringVar(&o.run, "run", "", "run only tests whose name matches this regular expression")
	flag.IntVar(&o.jobs, "jobs", 2, "number of changes to try concurrently")
	flag.BoolVar(&o.own, "own", false, "run only the tests of the changed package, which quickly shows the changes that only other packages can detect")
	flag.StringVar(&o.cache, "cache", "bin/mutants", "directory that caches which tests reach which changes; if empty, nothing is cached")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all, overlay, err := mutate(ctx, dir)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	accepted, err := checkAccepted(o.accepted, all, o.mend)
	if err != nil || o.mend {
		return err
	}
	chosen := choose(all, o, accepted)
	fmt.Printf("%d possible changes, %d accepted with a reason, %d selected (seed %d)\n", len(all), len(accepted), len(chosen), o.seed)
	if o.list {
		for _, m := range chosen {
			fmt.Println(m)
		}
		return nil
	}
	b := &bench{
		dir: dir, overlay: overlay, binaries: map[string]string{}, flags: map[string][]string{}, wanted: wanted, cache: o.cache, jobs: o.jobs, own: o.own,
		budget: o.budget, tests: map[string][]exploredTest{}, noticed: map[string]map[string]int{},
	}
	began := time.Now()
	tried, survivors, err := b.tryAll(ctx, chosen, o.limit)
	if err != nil {
		return err
	}
	noticed := tried - len(survivors)
	if tried == 0 {
		return errors.New("no change was tested")
	}
	percent := 100 * float64(noticed) / float64(tried)
	if b.failing > 0 {
		fmt.Printf("%d tests fail without any change, so they detect nothing\n", b.failing)
	}
	fmt.Printf("\n%d of %d detected (%.0f %%), %d not tested, seed %d, in %s\n", noticed, tried, percent, len(chosen)-tried, o.seed, time.Since(began).Round(time.Second))
	for _, m := range survivors {
		fmt.Println("survived", m)
	}
	if percent < o.goal {
		return fmt.Errorf("%.0f %% detected; the goal is %.0f", percent, o.goal)
	}
	return nil
}

// tryAll tries the changes until the time limit, first with the tests of the changed package. Undetected changes are
// then tried with the tests of the next package, so that a package's tests are compiled and explored only if needed. In
// the results, survivors are the changes that the tests of all packages failed to detect, and tried is the number of
// survivors and detected changes.
func (b *bench) tryAll(ctx context.Context, chosen []mutation, limit time.Duration) (tried int, survivors []mutation, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	open := chosen
	for round := 0; len(open) > 0; round++ {
		next := map[string][]mutation{}
		var needed []string
		for _, m := range open {
			watchers := b.watchers(m.pkg)
			if round >= len(watchers) {
				tried++
				survivors = append(survivors, m)
				fmt.Println("SURVIVED", m)
				continue
			}
			w := watchers[round]
			if next[w] = append(next[w], m); !slices.Contains(needed, w) {
				needed = append(needed, w)
			}
		}
		open = nil
		if err := b.build(ctx, needed); err != nil {
			return tried, survivors, unlessOver(ctx, err)
		}
		for _, pkg := range needed {
			left, noticed, err := b.tryPackage(ctx, pkg, next[pkg])
			open, tried = append(open, left...), tried+noticed
			if err != nil {
				return tried, survivors, unlessOver(ctx, err)
			}
		}
	}
	slices.SortFunc(survivors, func(a, b mutation) int { return a.id - b.id })
	return tried, survivors, nil
}

// unlessOver returns err, or nil if the time limit has passed, which explains the error.
func unlessOver(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// tryPackage tries changes with the tests of one package. It returns the changes that no test detected, and the number
// of detected changes.
func (b *bench) tryPackage(ctx context.Context, pkg string, changes []mutation) (left []mutation, noticed int, err error) {
	if err := b.explore(ctx, pkg); err != nil {
		return nil, 0, err
	}
	var mu sync.Mutex
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(b.jobs)
	for _, m := range changes {
		group.Go(func() error {
			by, err := b.try(inner, m, pkg)
			if err != nil || ctx.Err() != nil {
				return cmp.Or(ctx.Err(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if by == "" {
				left = append(left, m)
				return nil
			}
			noticed++
			fmt.Println("noticed ", m, "·", by)
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(left, func(a, b mutation) int { return a.id - b.id })
	return left, noticed, err
}

// choose chooses changes evenly from the groups of packages, as long as they have changes left.
func choose(all []mutation, o options, accepted map[string]bool) []mutation {
	byGroup := map[string][]mutation{}
	for _, m := range all {
		if !accepted[m.name()] && strings.Contains(m.String(), o.only) {
			group := suiteOf(m.pkg).group
			byGroup[group] = append(byGroup[group], m)
		}
	}
	var groups []string
	for _, s := range suites {
		if !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
	}
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // the choice of changes need not be unpredictable
	for _, g := range groups {
		list := byGroup[g]
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	var out []mutation
	for more := true; more && (o.count == 0 || len(out) < o.count); {
		more = false
		for _, g := range groups {
			if list := byGroup[g]; len(list) > 0 && (o.count == 0 || len(out) < o.count) {
				out, byGroup[g], more = append(out, list[0]), list[1:], true
			}
		}
	}
	return out
}
