// Package limit implements the concurrency limit that all parts of the service use. Work holds units of the limit while
// it runs.
package limit

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limit is a concurrency limit. Waiting callers acquire units in order of arrival. A nil Limit is unlimited.
type Limit struct {
	units *semaphore.Weighted
	size  int64
}

// clamp returns the number of units to acquire for work that requests n units. Work that requests more than the whole
// limit acquires all units.
func (l *Limit) clamp(n int64) int64 { return min(n, max(l.size, 1)) }

// ErrBusy reports that the units did not become available in time.
var ErrBusy = errors.New("limit: busy")

// New returns a limit with the given number of units.
func New(size int64) *Limit { return &Limit{semaphore.NewWeighted(size), size} }

// Acquire acquires n units, or all units if n exceeds the size, and returns the function that releases them. It blocks
// until the units are available or ctx ends. If wait is positive, Acquire blocks at most that long and then returns
// ErrBusy.
func (l *Limit) Acquire(ctx context.Context, n int64, wait time.Duration) (release func(), err error) {
	if release, ok := l.TryAcquire(n); ok {
		return release, nil
	}
	limited := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	n = l.clamp(n)
	if err := l.units.Acquire(limited, n); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, ErrBusy
	}
	return func() { l.units.Release(n) }, nil
}

// TryAcquire is like Acquire, but does not wait. It reports whether the units were available.
func (l *Limit) TryAcquire(n int64) (release func(), ok bool) {
	if l == nil {
		return func() {}, true
	}
	n = l.clamp(n)
	if !l.units.TryAcquire(n) {
		return nil, false
	}
	return func() { l.units.Release(n) }, true
}
