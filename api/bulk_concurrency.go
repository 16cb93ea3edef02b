package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/internal/limit"
)

// bulkLimit is the concurrency limit of requests with rows. Each app can have only one such request at a time, and all
// apps share a limit on the total number of bytes.
type bulkLimit struct {
	all *limit.Limit // in bytes

	mu   sync.Mutex
	apps map[uuid.UUID]*appLimit
}

// appLimit is the concurrency limit of an app. It exists only while requests hold it or wait for it.
type appLimit struct {
	one      *limit.Limit
	requests int
}

func newBulkLimit() *bulkLimit {
	return &bulkLimit{all: limit.New(maxBulkBody), apps: make(map[uuid.UUID]*appLimit)}
}

// acquire waits until a request of the given size may be processed. The caller must call release.
func (l *bulkLimit) acquire(ctx context.Context, app uuid.UUID, size int64, wait time.Duration) (release func(), err error) {
	const tooMany = "Too many bulk sends are being read"
	ctx, cancel := context.WithTimeout(ctx, wait) // applies to both limits together
	defer cancel()
	own := l.enter(app)
	releaseOwn, err := acquire(ctx, own.one, 1, wait, tooMany)
	if err != nil {
		l.leave(app)
		return nil, err
	}
	releaseAll, err := acquire(ctx, l.all, max(1, size), wait, tooMany)
	if err != nil {
		releaseOwn()
		l.leave(app)
		return nil, err
	}
	return func() {
		releaseAll()
		releaseOwn()
		l.leave(app)
	}, nil
}

func (l *bulkLimit) enter(app uuid.UUID) *appLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.apps[app]
	if own == nil {
		own = &appLimit{one: limit.New(1)}
		l.apps[app] = own
	}
	own.requests++
	return own
}

func (l *bulkLimit) leave(app uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.apps[app].requests--; l.apps[app].requests == 0 {
		delete(l.apps, app)
	}
}
