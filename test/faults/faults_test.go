// Package faults injects faults into Countersign. It kills the API, the worker, PostgreSQL and Temporal, makes
// individual statements fail, fills the disk, changes the clock, and runs concurrent clients, while it records every
// acknowledged call. After the fault, it checks that every acknowledged call has taken effect.
//
// The tested processes run the real program, built with the tag "failpoints". See internal/failpoint and
// docs/learn/faults.md.
package faults_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	rounds = flag.Int("rounds", 1, "number of times that each row is run")
	seed   = flag.Uint64("seed", 0, "seed of the random choices; 0 selects a new seed, which is printed")
)

// long reports whether this run has more than one round. In that case, each row of the fault matrix runs for its full
// duration.
func long() bool { return *rounds > 1 }

// built is the path of the tested program, and failpointKeys is the directory with its sealing key.
var built, failpointKeys string

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("faults: %d round(s), -seed %d\n", *rounds, *seed)
	// The rows mostly wait until their fault is detected, so more rows than usual can run in parallel.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "6")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countersign-faults-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	built, failpointKeys = filepath.Join(dir, "countersign"), filepath.Join(dir, "keys")
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-tags", "nomsgpack,failpoints", "-ldflags", "-s -w", "-o", built, "countersign/cmd/countersign"},
		// The command creates the keys in the data directory.
		{built, "app", "create", "--data-dir", dir, "--name", "unused", "--plan", "free"},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	return nil
}

// row runs one row of the fault matrix the requested number of times. Each round makes random choices that depend
// only on the seed.
func row(t *testing.T, round func(t *testing.T, rnd *rand.Rand)) {
	t.Helper()
	for i := range *rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			h := fnv.New64a()
			_, err := fmt.Fprint(h, t.Name())
			require.NoError(t, err)
			round(t, rand.New(rand.NewPCG(*seed, h.Sum64())))
		})
	}
}

// waitTimeout limits every wait for the service to catch up.
const waitTimeout = 3 * time.Minute

// eventually polls until check returns true, in the goroutine of the test.
func eventually(t *testing.T, check func() bool, what string, args ...any) {
	t.Helper()
	within(t, waitTimeout, check, what, args...)
}

func within(t *testing.T, limit time.Duration, check func() bool, what string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(limit); !check(); time.Sleep(50 * time.Millisecond) {
		require.False(t, time.Now().After(deadline), append([]any{what}, args...)...)
	}
}

// noError reports an error as a test failure. It does not stop the test, because only the test's own goroutine may do
// that.
func noError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
