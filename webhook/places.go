package webhook

import (
	"sync"
	"time"
)

// How many deliveries are under way to one endpoint at a time, in one process:
// few to one that fails, so that a hundred that hang leave room for all others.
const (
	placesIfWell    = 20
	placesIfFailing = 2
)

// The bounds of what a delivery waits for a place, and the pace that is taken
// for granted until an endpoint has shown its own.
const (
	minWait   = time.Second
	maxWait   = 10 * time.Minute
	firstPace = time.Second
)

// places keeps one endpoint from taking every place there is. A delivery that
// finds none free is told when to come back: those that wait are spread over
// the time that the endpoint needs for them, so that they neither come all at
// once nor again and again.
type places struct {
	mu  sync.Mutex
	now func() time.Time
	of  map[string]*queue
}

// queue is how it stands with one endpoint.
type queue struct {
	taken int
	pace  time.Duration // that an exchange takes, smoothed
	next  time.Time     // when the last of those that wait comes back
}

// take takes one of limit places. leave gives it back; it is nil if none was
// free, and then wait is the time after which one should be.
func (p *places) take(endpoint string, limit int) (leave func(), wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	q := p.of[endpoint]
	if q == nil {
		q = &queue{pace: firstPace}
		p.of[endpoint] = q
	}
	if q.taken < limit {
		q.taken++
		return func() { p.leave(endpoint, q, now) }, 0
	}
	step := q.pace / time.Duration(limit)
	if q.next.Before(now) || q.next.Sub(now) > maxWait-step {
		q.next = now // or the round is full, and the next one begins
	}
	q.next = q.next.Add(step)
	return nil, max(q.next.Sub(now), minWait)
}

func (p *places) leave(endpoint string, q *queue, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	q.taken--
	q.pace = (3*q.pace + max(0, now.Sub(since))) / 4
	if q.taken == 0 && !q.next.After(now) {
		delete(p.of, endpoint)
	}
}
