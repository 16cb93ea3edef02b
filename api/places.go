package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"countersign/models"
)

// How long a request waits for its turn, where only so many are worked on at a time.
const (
	readingCopyWait = 10 * time.Second
	verifyWait      = 10 * time.Second
	bulkWait        = 30 * time.Second
)

// acquire takes one of the places for work of which only so much is done at a time. Who does not get one in time is told
// what there is too much of, and to come again.
func acquire(ctx context.Context, places *semaphore.Weighted, wait time.Duration, tooMany string) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if places.Acquire(ctx, 1) == nil {
		return nil
	}
	busy := models.Refuse(models.KindUnavailable, "busy", "%s; please try again in a moment.", tooMany)
	busy.RetryAfter = wait
	return busy
}

// bulkPlaces are the places for requests with rows. An app has one at most, so that none has them all.
type bulkPlaces struct {
	all *semaphore.Weighted

	mu   sync.Mutex
	apps map[uuid.UUID]*appPlace
}

// appPlace is the place of an app, while there are requests that have it or wait for it.
type appPlace struct {
	one      *semaphore.Weighted
	requests int
}

func newBulkPlaces() *bulkPlaces {
	return &bulkPlaces{all: semaphore.NewWeighted(maxConcurrentBulkRequests), apps: make(map[uuid.UUID]*appPlace)}
}

// acquire takes the place of an app, and one of all. The caller releases them.
func (p *bulkPlaces) acquire(ctx context.Context, app uuid.UUID, wait time.Duration) (release func(), err error) {
	const tooMany = "Too many bulk sends are being read"
	ctx, cancel := context.WithTimeout(ctx, wait) // for both
	defer cancel()
	own := p.enter(app)
	if err := acquire(ctx, own.one, wait, tooMany); err != nil {
		p.leave(app)
		return nil, err
	}
	if err := acquire(ctx, p.all, wait, tooMany); err != nil {
		own.one.Release(1)
		p.leave(app)
		return nil, err
	}
	return func() {
		p.all.Release(1)
		own.one.Release(1)
		p.leave(app)
	}, nil
}

func (p *bulkPlaces) enter(app uuid.UUID) *appPlace {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.apps[app]
	if own == nil {
		own = &appPlace{one: semaphore.NewWeighted(1)}
		p.apps[app] = own
	}
	own.requests++
	return own
}

func (p *bulkPlaces) leave(app uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.apps[app].requests--; p.apps[app].requests == 0 {
		delete(p.apps, app)
	}
}
