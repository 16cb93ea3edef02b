package limit

import (
	"sync"
	"time"
)

// Keyed is a concurrency limit per key, such as an endpoint or an app: a key whose work hangs leaves capacity for the
// others. It never blocks. Work over the limit gets a time for its retry. Retries are spread over the time that the key
// needs for its waiting work, so that they come neither all at once nor again and again.
type Keyed struct {
	// MaxWait is the longest time before a retry; the shortest is a second.
	MaxWait time.Duration
	// Now is the clock for measuring the duration of work.
	Now func() time.Time

	mu   sync.Mutex
	keys map[string]*keyState
}

const (
	minWait     = time.Second
	initialPace = time.Second // the assumed duration of work until it is measured
)

// keyState is the state of one key.
type keyState struct {
	active    int
	pace      time.Duration // smoothed duration of work
	progress  time.Time     // when work last ended, or started with no other work active
	nextStart time.Time     // latest time assigned to a retry
}

// TryAcquire counts work of a key against limit; release ends it. If the limit is reached, release is nil and wait is the time
// after which there should be capacity.
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
	step := max(k.pace, now.Sub(k.progress)) / time.Duration(limit) // work that hangs is noticed before it ends
	if k.nextStart.Before(now) || k.nextStart.Sub(now) > l.MaxWait-step {
		k.nextStart = now // or the round is full, and the next one starts
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
