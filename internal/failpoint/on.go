//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func read(place string) (fault, argument string) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return "", ""
	}
	b, err := os.ReadFile(filepath.Join(dir, place))
	if err != nil {
		return "", ""
	}
	fault, argument, _ = strings.Cut(strings.TrimSpace(string(b)), " ")
	return fault, argument
}

// Inject marks a point at which a fault can be injected.
func Inject(place string) {
	switch fault, argument := read(place); fault {
	case "kill":
		// Only the process that removes the file is killed, so that one fault does not kill two processes.
		if os.Remove(filepath.Join(os.Getenv(Variable), place)) == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	case "sleep":
		if d, err := time.ParseDuration(argument); err == nil {
			time.Sleep(d)
		}
	case "hang":
		for fault == "hang" {
			time.Sleep(10 * time.Millisecond)
			fault, _ = read(place)
		}
	}
}

// InjectError marks a point at which an error can be injected.
func InjectError(place string) error {
	Inject(place)
	switch fault, argument := read(place); fault {
	case "error":
		return fmt.Errorf("failpoint %s: %s", place, argument)
	case "full":
		return &os.PathError{Op: "write", Path: place, Err: syscall.ENOSPC}
	}
	return nil
}

// Skew returns the offset of the clock. It is called only in programs with failpoints.
func Skew() time.Duration {
	text, _ := read("clock")
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
