package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// These constants specify which part of the mix is profiled, and how much of the profiles is printed.
const (
	profileLead = 5 * time.Second // duration at the start and at the end of the mix during which nothing is profiled
	profileTop  = "-nodecount=30"
	statements  = 30
)

// measureProfile runs the mix. It writes the CPU and memory profiles of the API and the worker to the directory in
// -profiles, and prints their top entries and the PostgreSQL statements with the longest total duration.
func (w *benchEnv) measureProfile(ctx context.Context) error {
	if err := os.MkdirAll(w.profiles, 0o750); err != nil {
		return err
	}
	if err := w.resetStatements(ctx); err != nil {
		return err
	}
	var files []string
	var failed []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for process, address := range w.profiled {
		for kind, path := range map[string]string{"cpu": "profile", "allocs": "allocs"} {
			file := filepath.Join(w.profiles, process+"."+kind+".pprof")
			files = append(files, file)
			wg.Go(func() {
				if pause(ctx, profileLead) != nil {
					return
				}
				url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%.0f", address, path, (w.length - 2*profileLead).Seconds())
				if err := download(ctx, url, file, w.length); err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
			})
		}
	}
	done, err := w.mix(ctx, w.length)
	wg.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	if err := w.reportStatements(ctx, done); err != nil {
		return err
	}
	for _, file := range files {
		sample := "-sample_index=cpu"
		if strings.HasSuffix(file, ".allocs.pprof") {
			sample = "-sample_index=alloc_space"
		}
		for _, order := range []string{"-flat", "-cum"} {
			out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", profileTop, sample, order, file).CombinedOutput() //nolint:gosec // the file written above
			if err != nil {
				return fmt.Errorf("%s: %w: %s", file, err, out)
			}
			report("\n%s %s\n%s", file, order, out)
		}
	}
	return nil
}

// download writes the response from url to a file, within the time limit.
func download(ctx context.Context, url, file string, limit time.Duration) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: limit}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	f, err := os.Create(file) //nolint:gosec // the developer chooses the directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, res.Body)
	return err
}

// serveProfiles configures the processes, before they are started, to serve their profiles.
func (w *benchEnv) serveProfiles(ctx context.Context) error {
	if w.profiles == "" {
		return nil
	}
	w.profiled = make(map[string]string)
	for name, cmd := range map[string]*exec.Cmd{"api": w.api, "worker": w.worker} {
		l, err := listen(ctx)
		if err != nil {
			return err
		}
		w.profiled[name] = l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, "COUNTERSIGN_PPROF_LISTEN="+w.profiled[name])
	}
	return nil
}

func (w *benchEnv) resetStatements(ctx context.Context) error {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()")
	return errors.Join(err, db.Close())
}

// reportStatements prints the PostgreSQL statements with the longest total duration. For each statement, it prints the
// number of executions and the duration per completed envelope.
func (w *benchEnv) reportStatements(ctx context.Context, done int) (err error) {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const each = `SELECT datname, calls, total_exec_time, left(regexp_replace(query, '\s+', ' ', 'g'), 160)
		FROM pg_stat_statements(true) AS s JOIN pg_database AS d ON d.oid = s.dbid ORDER BY datname, total_exec_time DESC`
	rows, err := db.QueryContext(ctx, each)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the same error
	shown := make(map[string]int)
	type total struct{ calls, took float64 }
	totals := make(map[string]total)
	for rows.Next() {
		var name, query string
		var calls, took float64
		if err := rows.Scan(&name, &calls, &took, &query); err != nil {
			return err
		}
		t := totals[name]
		totals[name] = total{t.calls + calls, t.took + took}
		if shown[name]++; shown[name] <= statements {
			report("%-20s %8.2f calls %8.3f ms  %s", name, calls/float64(done), took/float64(done), query)
		}
	}
	for name, t := range totals {
		report("%-20s %8.2f calls %8.3f ms  per envelope, total", name, t.calls/float64(done), t.took/float64(done))
	}
	return rows.Err()
}
