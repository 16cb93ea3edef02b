//go:build walk

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"runtime/coverage"
	"syscall"
)

// init is compiled into the service by main.go. SIGUSR1 resets the record of executed code, and SIGUSR2 writes the
// record of the code executed since then. Each signal then creates a file as confirmation.
func init() {
	dir := os.Getenv("WALK_DIR")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			if s == syscall.SIGUSR1 {
				must(coverage.ClearCounters())
				must(os.WriteFile(filepath.Join(dir, "cleared"), nil, 0o600))
				continue
			}
			must(coverage.WriteMetaDir(filepath.Join(dir, "counters")))
			must(coverage.WriteCountersDir(filepath.Join(dir, "counters")))
			must(os.WriteFile(filepath.Join(dir, "written"), nil, 0o600))
		}
	}()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
