package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// processTree is a process with its descendants.
type processTree struct {
	name string
	root int
}

// usage is the resource usage of a process tree: CPU time in cores, and resident bytes excluding those shared with
// other processes.
type usage struct {
	name        string
	cores       float64
	early, late int64 // medians over the second and the last quarter of the measurement
}

// usageSampler periodically samples the resource usage of processes.
type usageSampler struct {
	families []processTree
	before   map[string]time.Duration
	start    time.Time
	stop     context.CancelFunc
	done     sync.WaitGroup
	memory   map[string][]int64 // one sample per second
}

// watch starts sampling the service, Temporal, PostgreSQL and this program.
func (w *benchEnv) watch(ctx context.Context) (*usageSampler, error) {
	pg, err := w.postmaster(ctx)
	if err != nil {
		return nil, err
	}
	u := &usageSampler{
		families: []processTree{
			{"api", w.api.Process.Pid},
			{"worker", w.worker.Process.Pid},
			{"Temporal", w.temporalPID},
			{"PostgreSQL, of both", pg},
			{"the clients", os.Getpid()},
		},
		start: now(), memory: make(map[string][]int64),
	}
	cpu, _, err := u.sample()
	if err != nil {
		return nil, err
	}
	u.before = cpu
	ctx, u.stop = context.WithCancel(ctx)
	u.done.Go(func() {
		for ticks := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				ticks.Stop()
				return
			case <-ticks.C:
			}
			_, memory, err := u.sample()
			if err != nil {
				continue // a process has exited; usageSampler.end returns this error
			}
			for name, n := range memory {
				u.memory[name] = append(u.memory[name], n)
			}
		}
	})
	return u, nil
}

func (u *usageSampler) end() ([]usage, error) {
	u.stop()
	u.done.Wait()
	took := now().Sub(u.start)
	cpu, memory, err := u.sample()
	if err != nil {
		return nil, err
	}
	var out []usage
	for _, f := range u.families {
		samples := append(u.memory[f.name], memory[f.name])
		out = append(out, usage{
			name: f.name, cores: (cpu[f.name] - u.before[f.name]).Seconds() / took.Seconds(),
			early: middle(samples[len(samples)/4 : len(samples)/2]), late: middle(samples[len(samples)*3/4:]),
		})
	}
	return out, nil
}

// middle returns the median, because a single sample may include a short-lived child process.
func middle(samples []int64) int64 { return slices.Sorted(slices.Values(samples))[len(samples)/2] }

// hertz is the number of CPU time units per second in /proc (proc_pid_stat(5)). It is constant on Linux.
const hertz = 100

// sample reads the CPU time and resident memory of every process tree. The CPU time of a terminated child is attributed
// to the process that waited for it.
func (u *usageSampler) sample() (cpu map[string]time.Duration, memory map[string]int64, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, nil, err
	}
	type process struct {
		parent int
		ticks  int64
		pages  int64
	}
	all := make(map[int]process, len(stats))
	for _, path := range stats {
		b, err := os.ReadFile(path) //nolint:gosec // a kernel file
		if err != nil {
			continue // the process has exited
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name before the parenthesis can contain any character
		n := func(i int) int64 { v, _ := strconv.ParseInt(f[i-3], 10, 64); return v }
		p := process{parent: int(n(4)), ticks: n(14) + n(15) + n(16) + n(17)}
		var total, resident, shared int64
		if b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "statm")); err == nil {
			_, _ = fmt.Sscan(string(b), &total, &resident, &shared)
		}
		p.pages = resident - shared
		all[pid] = p
	}
	cpu, memory = make(map[string]time.Duration), make(map[string]int64)
	roots := make(map[int]string, len(u.families))
	for _, f := range u.families {
		if _, ok := all[f.root]; !ok {
			return nil, nil, fmt.Errorf("the process %s has exited", f.name)
		}
		roots[f.root] = f.name
	}
	for pid, p := range all {
		for at := pid; at > 1; at = all[at].parent {
			if name, ok := roots[at]; ok {
				cpu[name] += time.Duration(p.ticks) * time.Second / hertz
				memory[name] += p.pages * int64(os.Getpagesize())
				break
			}
		}
	}
	return cpu, memory, nil
}

// stored returns the number of stored bytes by location.
func (w *benchEnv) stored(ctx context.Context) (map[string]int64, error) {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	out := make(map[string]int64)
	for name, query := range map[string]string{
		"the database": "SELECT pg_database_size(current_database())",
		"Temporal's":   "SELECT pg_database_size('temporal') + pg_database_size('temporal_visibility')",
	} {
		var n int64
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return nil, err
		}
		out[name] = n
	}
	err = filepath.WalkDir(filepath.Join(w.dir, "files"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was moved
		}
		if err == nil {
			out["the files"] += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the file does not exist yet
	}
	return out, err
}

// postmaster returns the process ID of the PostgreSQL server.
func (w *benchEnv) postmaster(ctx context.Context) (int, error) {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	var dir string
	if err := db.QueryRowContext(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid")) //nolint:gosec // a file of the server under test
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(line)
}
