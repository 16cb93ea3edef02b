package api

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"countersign/models"
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
