package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"
)

// bulkPlaces is the concurrency limit of requests with rows: so many bytes of all apps, and one request of an app.
type bulkPlaces struct {
	all *semaphore.Weighted // bytes

	mu   sync.Mutex
	apps map[uuid.UUID]*appPlace
}

// appPlace is the place of an app, while there are requests that have it or wait for it.
type appPlace struct {
	one      *semaphore.Weighted
	requests int
}

func newBulkPlaces() *bulkPlaces {
	return &bulkPlaces{all: semaphore.NewWeighted(maxBulkBody), apps: make(map[uuid.UUID]*appPlace)}
}

// acquire waits until a request of so many bytes may be worked on. The caller releases it.
func (p *bulkPlaces) acquire(ctx context.Context, app uuid.UUID, size int64, wait time.Duration) (release func(), err error) {
	const tooMany = "Too many bulk sends are being read"
	size = max(1, min(size, maxBulkBody))
	ctx, cancel := context.WithTimeout(ctx, wait) // for both
	defer cancel()
	own := p.enter(app)
	if err := acquire(ctx, own.one, 1, wait, tooMany); err != nil {
		p.leave(app)
		return nil, err
	}
	if err := acquire(ctx, p.all, size, wait, tooMany); err != nil {
		own.one.Release(1)
		p.leave(app)
		return nil, err
	}
	return func() {
		p.all.Release(size)
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
