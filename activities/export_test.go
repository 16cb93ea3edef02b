package activities

import (
	"context"
	"time"
)

// NonRetryable is what becomes of the errors of activities.
func NonRetryable(err error) error { return nonRetryable(err) }

// AwaitRoom waits for room for a row of a bulk send, up to a limit.
func (a *Activities) AwaitRoom(ctx context.Context, limit time.Duration) error {
	return a.awaitRoom(ctx, limit)
}

// Room is how many envelopes may be in flight.
func (r *BulkRoom) Room(now time.Time, singles int) int { return r.room(now, singles) }
