// Package limit has the concurrency limit that all parts of the service use: work takes units of it while it runs.
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

// atMost returns the units that work takes which needs n. A limit of size 0 never has one.
func (l *Limit) atMost(n int64) int64 { return min(n, max(l.size, 1)) }

// ErrBusy reports that the units were not free in time.
var ErrBusy = errors.New("limit: busy")

// New returns a limit of size units.
func New(size int64) *Limit { return &Limit{semaphore.NewWeighted(size), size} }

// Acquire takes n units, and returns the function that releases them. Work that needs more units than there are has all of
// them. Acquire waits until ctx ends, and not longer than wait, if that is positive; then it returns ErrBusy.
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

// TryAcquire is Acquire that does not wait. It reports whether the units were free.
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
