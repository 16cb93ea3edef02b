package budget

import (
	"syscall"
	"time"
)

// rusageThread requests the usage of the calling thread; package syscall has no constant for it.
const rusageThread = 1

// threadTime returns the calling thread and its processor time.
func threadTime() (thread int, used time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return 0, 0
	}
	return syscall.Gettid(), time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
