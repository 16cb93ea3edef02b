package webhook

import (
	"sync"
	"time"
)

// How many deliveries are under way to one endpoint at a time, in one process:
// few to one that fails, so that a hundred that hang leave room for all others.
const (
	maxInFlight        = 20
	maxInFlightFailing = 2
)

// The limits of the wait of a delivery over the concurrency limit, and the assumed pace of an endpoint until it is
// measured.
const (
	minWait     = time.Second
	maxWait     = 10 * time.Minute
	initialPace = time.Second
)

// endpointLimiter keeps one endpoint from using the whole capacity. A delivery over the limit gets a time to come
// back: waiting deliveries are spread over the time that the endpoint needs for them, so that they neither come all at
// once nor again and again.
type endpointLimiter struct {
	mu        sync.Mutex
	now       func() time.Time
	endpoints map[string]*endpointState
}

// endpointState is the state of one endpoint.
type endpointState struct {
	inFlight    int
	perDelivery time.Duration // smoothed duration of an exchange
	nextStart   time.Time     // when the last waiting delivery comes back
}

// acquire counts a delivery against limit. leave ends it. If the limit is reached, leave is nil and wait is the time
// after which there should be capacity.
func (p *endpointLimiter) acquire(endpoint string, limit int) (leave func(), wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	q := p.endpoints[endpoint]
	if q == nil {
		q = &endpointState{perDelivery: initialPace}
		p.endpoints[endpoint] = q
	}
	if q.inFlight < limit {
		q.inFlight++
		return func() { p.release(endpoint, q, now) }, 0
	}
	step := q.perDelivery / time.Duration(limit)
	if q.nextStart.Before(now) || q.nextStart.Sub(now) > maxWait-step {
		q.nextStart = now // or the round is full, and the next one begins
	}
	q.nextStart = q.nextStart.Add(step)
	return nil, max(q.nextStart.Sub(now), minWait)
}

func (p *endpointLimiter) release(endpoint string, q *endpointState, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	q.inFlight--
	q.perDelivery = (3*q.perDelivery + max(0, now.Sub(since))) / 4
	if q.inFlight == 0 && !q.nextStart.After(now) {
		delete(p.endpoints, endpoint)
	}
}
