package budget

import (
	"syscall"
	"time"
)

// rusageThread selects the calling thread (RUSAGE_THREAD). Package syscall does not define it.
const rusageThread = 1

// threadTime returns the ID of the calling thread and its CPU time.
func threadTime() (thread int, used time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return 0, 0
	}
	return syscall.Gettid(), time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
