// Package budget limits the CPU time that a goroutine spends on an untrusted input.
package budget

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// ErrSpent reports that a goroutine has exhausted its CPU time.
var ErrSpent = errors.New("CPU time limit exceeded")

// WithProcessorTime returns a context for use only in the calling goroutine. Its Err method returns ErrSpent when the
// goroutine has used the given CPU time. After the given elapsed time, Err returns context.DeadlineExceeded, and the
// Done channel is closed. CPU time is limited separately because, on a busy machine, time spent waiting for a CPU is
// not caused by the input. The goroutine is locked to its thread until it calls release. If the system does not measure
// the CPU time of a thread, only the elapsed time is limited.
func WithProcessorTime(ctx context.Context, processor, clock time.Duration) (_ context.Context, release func()) {
	runtime.LockOSThread()
	ctx, cancel := context.WithTimeout(ctx, clock)
	thread, used := threadTime()
	return &limited{Context: ctx, thread: thread, most: used + processor}, func() {
		cancel()
		runtime.UnlockOSThread()
	}
}

// limited is a context that ends when its thread has used its CPU time.
type limited struct {
	context.Context

	thread int
	most   time.Duration // total CPU time of the thread at the limit
}

// Err implements context.Context.
func (l *limited) Err() error {
	if thread, used := threadTime(); thread == l.thread && used > l.most {
		return ErrSpent
	}
	return l.Context.Err()
}
