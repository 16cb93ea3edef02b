package limit

import (
	"sync"
	"time"
)

// Keyed is a concurrency limit for each key, such as an endpoint or an app. Hanging work of one key does not use up the
// capacity of other keys. Keyed never blocks. If the limit is reached, TryAcquire returns the time to wait before a
// retry. The retries are spread over the time needed for the waiting work of the key.
type Keyed struct {
	// MaxWait is the maximum time before a retry. The minimum is one second.
	MaxWait time.Duration
	// Now returns the current time. It is used to measure the duration of work.
	Now func() time.Time

	mu   sync.Mutex
	keys map[string]*keyState
}

const (
	minWait     = time.Second
	initialPace = time.Second // assumed duration of work before the first measurement
)

// keyState is the state of one key.
type keyState struct {
	active    int
	pace      time.Duration // smoothed duration of work
	progress  time.Time     // time at which work last ended, or at which work started while none was active
	nextStart time.Time     // latest time assigned to a retry
}

// TryAcquire starts a unit of work for a key if fewer units than the limit are active for that key. The caller must
// call release when the unit ends. If the limit is reached, release is nil, and wait is the time until capacity is
// expected.
func (l *Keyed) TryAcquire(key string, limit int) (release func(), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	k := l.keys[key]
	if k == nil {
		if l.keys == nil {
			l.keys = make(map[string]*keyState)
		}
		k = &keyState{pace: initialPace}
		l.keys[key] = k
	}
	if k.active < limit {
		if k.active == 0 {
			k.progress = now
		}
		k.active++
		return func() { l.release(key, k, now) }, 0
	}
	// The step includes the time since the last progress, so that hanging work is detected before it ends.
	step := max(k.pace, now.Sub(k.progress)) / time.Duration(limit)
	if k.nextStart.Before(now) || k.nextStart.Sub(now) > l.MaxWait-step {
		k.nextStart = now // no retry is pending, or the latest retry is already at MaxWait
	}
	k.nextStart = k.nextStart.Add(step)
	return nil, min(max(k.nextStart.Sub(now), minWait), l.MaxWait)
}

func (l *Keyed) release(key string, k *keyState, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	k.active--
	k.progress = now
	k.pace = (3*k.pace + max(0, now.Sub(since))) / 4
	if k.active == 0 && !k.nextStart.After(now) {
		delete(l.keys, key)
	}
}
