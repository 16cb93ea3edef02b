// Command bench compares sealing with its minimum cost, which is the cost of copying the file while hashing it, plus
// one P-256 signature. It also compares sealing with other installed programs that write or sign PDFs. Everything runs
// in one process, and the result is the median of several runs. Peak memory is measured in a separate process, relative
// to the memory in use before sealing.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"countersign/seal"
	"countersign/seal/admission"
)

func main() {
	one := flag.String("one", "", "seal this file and print the peak resident memory (used internally by bench)")
	many := flag.Int("many", 1, "with -one: number of concurrent seals")
	pages := flag.Int("pages", 1, "with -one: number of pages of the file")
	facts := flag.String("facts", "", "with -one: result of examining the file")
	rounds := flag.Int("rounds", 40, "number of rounds per measurement")
	others := flag.Bool("peers", true, "also measure the other programs")
	only := flag.String("only", "", "measure only the kind of document whose name has this prefix (such as \"4,000\")")
	kind := flag.String("profile", "", "only profile sealing of the kind of document whose name has this prefix (such as \"4,000\")")
	cpu := flag.String("o", "seal.prof", "with -profile: output file")
	flag.Parse()
	var err error
	switch {
	case *one != "":
		err = sealOnce(context.Background(), os.Stdout, *one, *pages, *many, *facts)
	case *kind != "":
		err = profile(context.Background(), os.Stdout, *kind, *cpu, 5*time.Second)
	default:
		err = run(context.Background(), os.Stdout, *rounds, *others, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, rounds int, others bool, only string) error {
	dir, err := os.MkdirTemp("", "bench-seal")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := newSealer()
	if err != nil {
		return err
	}
	p := &peers{}
	if others {
		if p, err = newPeers(ctx, dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%d CPUs, %s, median of %d\n\n", runtime.NumCPU(), runtime.Version(), rounds)
	for _, d := range documents() {
		if !strings.HasPrefix(d.name, only) {
			continue
		}
		if err := measure(ctx, w, dir, d, s, p, rounds); err != nil {
			return err
		}
	}
	if only != "" {
		return nil
	}
	return parallel(ctx, w, dir)
}

func measure(ctx context.Context, w io.Writer, dir string, d document, s *sealer, p *peers, rounds int) error {
	in, job, admitted, err := prepared(ctx, filepath.Join(dir, "in.pdf"), d)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	size := job.Size
	// Alternate between the measurements, so that machine load affects all of them equally.
	var figures []figure
	var grown int64
	for _, what := range []struct {
		name string
		run  func(out *os.File) error
	}{
		{"floor", func(out *os.File) error { return floorSingleThread(in, out, size, nil, s.key) }},
		{"Countersign seal", func(out *os.File) error {
			res, err := s.Seal(ctx, out, job)
			grown = res.Size - size
			return err
		}},
		{"floor + what is added", func(out *os.File) error { return floorSingleThread(in, out, size, make([]byte, grown), s.key) }},
		{"floor on two threads", func(out *os.File) error { return floorTwoThreads(in, out, size, s.key) }},
	} {
		figures = append(figures, figure{name: what.name, run: what.run})
	}
	for range rounds {
		for i := range figures {
			if err := figures[i].take(dir); err != nil {
				return err
			}
		}
	}
	base := figures[0].median()
	peak, err := childPeak(ctx, in.Name(), job, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s (%d bytes, %d more when sealed)\n", d.name, size, grown)
	for i := range figures {
		f := &figures[i]
		fmt.Fprintf(w, "  %-24s %9.2f ms  %7.2f × floor    best %.2f ms, %.2f × floor, CPU %.2f ms", f.name, ms(f.median()),
			float64(f.median())/float64(base), ms(f.best()), float64(f.best())/float64(figures[0].best()), ms(f.cpu)/float64(rounds))
		if i == 1 {
			fmt.Fprintf(w, ", peak memory + %s", peak)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "  %-24s %9.2f ms  %7.2f × floor    measured once; performed at upload, not when sealing\n", "examining the upload", ms(admitted), float64(admitted)/float64(base))
	if err := measureVerify(ctx, w, dir, s, job, rounds); err != nil {
		return err
	}
	for _, peer := range p.list {
		took, err := p.median(ctx, peer, in.Name(), min(rounds, 3))
		if err != nil {
			fmt.Fprintf(w, "  %-24s %v\n", peer.name, err)
			continue
		}
		fmt.Fprintf(w, "  %-24s %9.2f ms  %7.2f × floor\n", peer.name, ms(took), float64(took)/float64(base))
	}
	fmt.Fprintln(w)
	return nil
}

// figure is an operation that is measured repeatedly.
type figure struct {
	name string
	run  func(out *os.File) error
	took []time.Duration
	cpu  time.Duration
}

func (f *figure) take(dir string) error {
	start := cpuTime()
	took, err := timed(dir, f.run)
	f.cpu += cpuTime() - start
	f.took = append(f.took, took)
	return err
}

func (f *figure) median() time.Duration { return median(f.took) }
func (f *figure) best() time.Duration   { return slices.Min(f.took) }

// prepared writes a document, opens it and admits it (see uploaded).
func prepared(ctx context.Context, name string, d document) (in *os.File, job seal.Job, took time.Duration, err error) {
	if err := os.WriteFile(name, d.build(), 0o600); err != nil {
		return nil, job, 0, err
	}
	if in, err = os.Open(name); err != nil { //nolint:gosec // written above
		return nil, job, 0, err
	}
	if job, took, err = uploaded(ctx, in); err != nil {
		_ = in.Close()
	}
	return in, job, took, err
}

// uploaded admits a file in the same way as the service admits an upload. It returns the job for the result and the
// duration of the examination.
func uploaded(ctx context.Context, in *os.File) (seal.Job, time.Duration, error) {
	hash, size, err := hashOf(in)
	if err != nil {
		return seal.Job{}, 0, err
	}
	start := time.Now()
	info, err := admission.Admit(ctx, in, size, admission.DefaultLimits())
	if err != nil {
		return seal.Job{}, 0, err
	}
	took := time.Since(start)
	job := newJob(in, size, hash, len(info.Pages))
	job.Facts = seal.DecodeFacts(info.Facts.Encode())
	return job, took, nil
}

func hashOf(in *os.File) (hash string, size int64, err error) {
	h := sha256.New()
	size, err = io.CopyBuffer(struct{ io.Writer }{h}, io.NewSectionReader(in, 0, 1<<40), make([]byte, 64<<10))
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// parallel seals 100 files concurrently and reports time and peak memory.
func parallel(ctx context.Context, w io.Writer, dir string) error {
	d := documents()[1]
	in, job, _, err := prepared(ctx, filepath.Join(dir, "many.pdf"), d)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	const n = 100
	start := time.Now()
	peak, err := childPeak(ctx, in.Name(), job, n)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d × %s at once on %d CPUs: %.2f s with the process, peak memory + %s\n", n, d.name, runtime.NumCPU(), time.Since(start).Seconds(), peak)
	return err
}

func childPeak(ctx context.Context, name string, job seal.Job, many int) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, self, "-one", name, "-pages", strconv.Itoa(job.Document.PageCount), //nolint:gosec // this program
		"-many", strconv.Itoa(many), "-facts", job.Facts.Encode()).Output()
	return strings.TrimSpace(string(out)), err
}

// sealOnce seals a file in a new process and prints the resulting increase in peak resident memory.
func sealOnce(ctx context.Context, w io.Writer, name string, pages, many int, facts string) error {
	s, err := newSealer()
	if err != nil {
		return err
	}
	in, err := os.Open(name) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	hash, size, err := hashOf(in)
	if err != nil {
		return err
	}
	job := newJob(in, size, hash, pages)
	job.Facts = seal.DecodeFacts(facts)
	dir, err := os.MkdirTemp("", "bench-seal-one")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	before, err := peakKiB()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make(chan error, many)
	slots := make(chan struct{}, runtime.NumCPU()) // one concurrent seal per core, as in the worker
	for range many {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			_, err := timed(dir, func(out *os.File) error { _, err := s.Seal(ctx, out, job); return err })
			if err != nil {
				failed <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	after, err := peakKiB()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%.1f MB (idle %.1f MB)\n", float64(after-before)/1024, float64(before)/1024)
	return err
}

// peakKiB returns the process's peak resident memory (Linux only).
func peakKiB() (int, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

func timed(dir string, fn func(*os.File) error) (time.Duration, error) {
	out, err := os.CreateTemp(dir, "out")
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = fn(out)
	took := time.Since(start)
	_ = out.Close()
	_ = os.Remove(out.Name())
	return took, err
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
