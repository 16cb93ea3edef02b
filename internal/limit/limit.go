// Package limit implements the concurrency limit for all parts of the service. Work holds units of the limit while it
// runs.
package limit

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limit is a concurrency limit. Whoever waits gets units in the order of arrival. A nil Limit admits everything.
type Limit struct {
	units *semaphore.Weighted
	size  int64
}

// atMost returns the number of units for work that needs n. It is 1 or more, even for a limit of size 0.
func (l *Limit) atMost(n int64) int64 { return min(n, max(l.size, 1)) }

// ErrBusy reports that the units were not free in time.
var ErrBusy = errors.New("limit: busy")

// New returns a limit of size units.
func New(size int64) *Limit { return &Limit{semaphore.NewWeighted(size), size} }

// Acquire acquires n units, or all units if n exceeds the size, and returns the function that releases them. It waits
// until ctx ends or, if wait is positive, at most for wait; then it returns ErrBusy.
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
	n = l.atMost(n)
	if err := l.units.Acquire(limited, n); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, ErrBusy
	}
	return func() { l.units.Release(n) }, nil
}

// TryAcquire is Acquire without waiting. It reports whether the units were free.
func (l *Limit) TryAcquire(n int64) (release func(), ok bool) {
	if l == nil {
		return func() {}, true
	}
	n = l.atMost(n)
	if !l.units.TryAcquire(n) {
		return nil, false
	}
	return func() { l.units.Release(n) }, true
}
