package api

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"countersign/models"
)

// How long a request waits for its turn, where only so many are worked on at a time.
const (
	readingCopyWait = 10 * time.Second
	verifyWait      = 10 * time.Second
	bulkWait        = 30 * time.Second
)

// acquire takes n units of a concurrency limit. A request that does not get them in time is answered 503 with tooMany, and
// when to try again.
func acquire(ctx context.Context, limit *semaphore.Weighted, n int64, wait time.Duration, tooMany string) error {
	if limit.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if limit.Acquire(ctx, n) == nil {
		return nil
	}
	busy := models.Refuse(models.KindUnavailable, "busy", "%s; please try again in a moment.", tooMany)
	busy.RetryAfter = wait
	return busy
}
