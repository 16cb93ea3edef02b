package api

import (
	"context"
	"time"

	"countersign/internal/limit"
	"countersign/models"
)

// The maximum times for which a request waits for a concurrency limit.
const (
	readingCopyWait = 10 * time.Second
	verifyWait      = 10 * time.Second
	bulkWait        = 30 * time.Second
)

// acquire acquires n units of a concurrency limit. If they do not become available in time, it returns a 503 error with
// the given message and the time after which to retry.
func acquire(ctx context.Context, l *limit.Limit, n int64, wait time.Duration, tooMany string) (release func(), err error) {
	if release, err = l.Acquire(ctx, n, wait); err != nil {
		busy := models.Reject(models.KindUnavailable, "busy", "%s; please try again in a moment.", tooMany)
		busy.RetryAfter = wait
		return nil, busy
	}
	return release, nil
}
