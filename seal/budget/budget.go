// Package budget limits the processor time that a goroutine spends on an untrusted input.
package budget

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// ErrSpent reports that a goroutine has exhausted its processor time.
var ErrSpent = errors.New("CPU time limit exceeded")

// WithProcessorTime returns a context for use in the calling goroutine only. Its Err method returns ErrSpent when the
// goroutine has used the given processor time. It returns context.DeadlineExceeded after the given elapsed time, which
// also closes its Done channel. Processor time is limited separately because on a busy machine, waiting for a processor
// is not the input's fault. The goroutine is locked to its thread until it calls release. If the system does not
// measure the processor time of a thread, only the elapsed time is limited.
func WithProcessorTime(ctx context.Context, processor, clock time.Duration) (_ context.Context, release func()) {
	runtime.LockOSThread()
	ctx, cancel := context.WithTimeout(ctx, clock)
	thread, used := threadTime()
	return &limited{Context: ctx, thread: thread, most: used + processor}, func() {
		cancel()
		runtime.UnlockOSThread()
	}
}

// limited is a context that is done when its thread has used its processor time.
type limited struct {
	context.Context

	thread int
	most   time.Duration // total processor time of the thread at the limit
}

// Err implements context.Context.
func (l *limited) Err() error {
	if thread, used := threadTime(); thread == l.thread && used > l.most {
		return ErrSpent
	}
	return l.Context.Err()
}
