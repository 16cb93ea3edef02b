// Command corpus admits, seals and verifies many PDFs from external sources, and prints the result for each. Five
// programs must verify every sealed file. Outside the fields and the line at the foot, no pixel may differ in either of
// two renderers. A file that qpdf, MuPDF and Poppler read without an error or warning must not be rejected as damaged.
// For the sources of the files, see the script collect.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	os.Exit(run())
}

func run() int {
	if len(os.Args) == 3 && os.Args[1] == renderArgument {
		return serveRenderer(os.Args[2])
	}
	files := flag.Int("files", 1200, "maximum number of files, which are selected at even intervals (0 = all files)")
	mutants := flag.Int("mutants", 60, "number of additional files that are copies with random damage")
	parallel := flag.Int("parallel", 2, "number of files examined concurrently")
	largest := flag.Int64("largest", 4<<20, "maximum file size in bytes; larger files are skipped")
	seed := flag.Uint64("seed", 1, "random seed for the damage")
	admit := flag.Bool("admit", false, "only admit the undamaged files as uploads, render the pages of admitted files, and print the rejected files")
	keep := flag.String("keep", "", "directory for copies of failing files (empty = discard them)")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: corpus [flags] FOLDER...")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	names, err := find(flag.Args(), *largest)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	all := len(names)
	names = sampleEvenly(names, *files)
	if *admit {
		return admitAll(ctx, names)
	}
	c, err := newChecker()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.close()
	c.keep = *keep
	fmt.Printf("%d PDFs of at most %d MB, %d of them selected, plus %d damaged copies\n", all, *largest>>20, len(names), *mutants)
	start := time.Now()
	t := newTally()
	c.each(ctx, *parallel, inputs(names, *mutants, *seed), t)
	t.print(os.Stdout)
	fmt.Printf("%s\n", time.Since(start).Round(time.Second))
	if ctx.Err() != nil || len(t.failures) > 0 {
		return 1
	}
	return 0
}

// find returns the PDFs under the given directories, in order.
func find(folders []string, largest int64) ([]string, error) {
	var names []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".pdf") {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= largest {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// sampleEvenly returns n evenly spaced names.
func sampleEvenly(names []string, n int) []string {
	if n <= 0 || n >= len(names) {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = names[i*len(names)/n]
	}
	return out
}

// input is a file. If the seed is not zero, a damaged copy of the file is generated from the seed.
type input struct {
	name string
	seed uint64
}

func inputs(names []string, mutants int, seed uint64) []input {
	out := make([]input, 0, len(names)+mutants)
	for _, n := range names {
		out = append(out, input{name: n})
	}
	for i, n := range sampleEvenly(names, mutants) {
		if i < mutants {
			out = append(out, input{n, seed + uint64(i)})
		}
	}
	return out
}

// read returns the bytes of the file, damaged if a seed is set.
func (in input) read() ([]byte, error) {
	b, err := os.ReadFile(in.name)
	if err != nil || in.seed == 0 || len(b) < 100 {
		return b, err
	}
	rng := rand.New(rand.NewPCG(in.seed, 7)) //nolint:gosec // repeatable on purpose
	for range 1 + rng.IntN(2) {
		at := rng.IntN(len(b) - 64)
		switch rng.IntN(8) {
		case 0:
			copy(b[at:at+64], b[rng.IntN(len(b)-64):])
		case 1:
			b = slices.Delete(b, at, at+1+rng.IntN(8))
		case 2:
			b = slices.Insert(b, at, ' ')
		default:
			b[at] = byte(rng.Uint32()) //nolint:gosec // only the lowest eight bits are used
		}
	}
	return b, nil
}

// each checks the inputs, with the given number of concurrent checks.
func (c *checker) each(ctx context.Context, parallel int, all []input, t *tally) {
	work := make(chan input)
	var wg sync.WaitGroup
	for range max(parallel, 1) {
		wg.Go(func() {
			for in := range work {
				r := c.check(ctx, in)
				t.add(in, r)
			}
		})
	}
	for _, in := range all {
		select {
		case work <- in:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
}

type tally struct {
	mu       sync.Mutex
	counts   map[string]int
	failures []string
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (t *tally) add(in input, r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, what := range r.counts {
		t.counts[what]++
	}
	for _, f := range r.failures {
		line := f + "  " + in.name
		if in.seed != 0 {
			line = fmt.Sprintf("%s (damaged, seed %d)", line, in.seed)
		}
		t.failures = append(t.failures, line)
		fmt.Fprintln(os.Stderr, line)
	}
	if t.counts["files"]++; t.counts["files"]%100 == 0 {
		fmt.Fprintf(os.Stderr, "%d …\n", t.counts["files"])
	}
}

func (t *tally) print(w io.Writer) {
	keys := slices.SortedFunc(maps.Keys(t.counts), func(a, b string) int { return cmp.Compare(a, b) })
	for _, k := range keys {
		fmt.Fprintf(w, "%6d  %s\n", t.counts[k], k)
	}
	fmt.Fprintf(w, "%6d  FAILURES\n", len(t.failures))
	slices.Sort(t.failures)
	for _, f := range t.failures {
		fmt.Fprintln(w, "        "+f)
	}
}

var errTool = errors.New("a required program is missing")
