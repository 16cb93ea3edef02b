package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// profile seals one type of document repeatedly for the given duration and writes a CPU profile to a file.
func profile(ctx context.Context, w io.Writer, kind, file string, during time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "bench-seal-profile")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := newSealer()
	if err != nil {
		return err
	}
	for _, d := range documents() {
		if !strings.HasPrefix(d.name, kind) {
			continue
		}
		in, job, _, err := prepared(ctx, filepath.Join(dir, "in.pdf"), d)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		to, err := os.Create(file) //nolint:gosec // named on the command line
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.Close()) }()
		if err := pprof.StartCPUProfile(to); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		n, cpu := 0, cpuTime()
		for start := time.Now(); time.Since(start) < during; n++ {
			if _, err := timed(dir, func(out *os.File) error { _, err := s.Seal(ctx, out, job); return err }); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(w, "%s: %d seals, CPU %.2f ms each\n", d.name, n, ms(cpuTime()-cpu)/float64(n))
		return err
	}
	return fmt.Errorf("no kind of document has the prefix %q", kind)
}
