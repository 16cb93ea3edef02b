package main

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory sets the soft memory limit of the Go runtime to half of the memory limit of the process's cgroup. The
// other half is for memory that the runtime does not count, and for the processes that render pages and examine files.
// If GOMEMLIMIT is set, limitMemory has no effect.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := cgroupMemoryLimit(os.DirFS("/")); limit > 0 {
		debug.SetMemoryLimit(limit / 2)
	}
}

// cgroupMemoryLimit returns the lowest memory limit of the process's cgroup and its ancestors, in bytes, or 0 if there
// is no limit. It supports versions 1 and 2 of cgroups(7).
func cgroupMemoryLimit(root fs.FS) int64 {
	lowest := int64(math.MaxInt64)
	read := func(name string) {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return
		}
		// Without a limit, the file contains "max" in version 2, and a number close to the maximum in version 1.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && n < 1<<50 {
			lowest = min(lowest, n)
		}
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		base, file := "sys/fs/cgroup", "memory.max"
		if controllers == "memory" {
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" || !ok {
			continue
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			read(path.Join(base, dir, file))
			if dir == "/" {
				break
			}
		}
	}
	if lowest == math.MaxInt64 {
		return 0
	}
	return lowest
}
