package api

import (
	"context"
	"time"

	"countersign/internal/limit"
	"countersign/models"
)

// How long a request waits for a concurrency limit.
const (
	readingCopyWait = 10 * time.Second
	verifyWait      = 10 * time.Second
	bulkWait        = 30 * time.Second
)

// acquire acquires n units of a concurrency limit. A request that does not get them in time gets a 503 with tooMany
// and the time to retry.
func acquire(ctx context.Context, l *limit.Limit, n int64, wait time.Duration, tooMany string) (release func(), err error) {
	if release, err = l.Acquire(ctx, n, wait); err != nil {
		busy := models.Refuse(models.KindUnavailable, "busy", "%s; please try again in a moment.", tooMany)
		busy.RetryAfter = wait
		return nil, busy
	}
	return release, nil
}
