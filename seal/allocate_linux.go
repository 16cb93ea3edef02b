package seal

import (
	"os"
	"syscall"
)

// allocate reserves disk space for a file of n bytes.
func allocate(f *os.File, n int64) error { return syscall.Fallocate(int(f.Fd()), 0, 0, n) }
