package activities

import (
	"context"
	"time"

	"countersign/models"
	"countersign/store"
)

// NonRetryable returns the form of an activity's error.
func NonRetryable(err error) error { return nonRetryable(err) }

// AwaitRoom waits for room for a row of a bulk send, up to a limit.
func (a *Activities) AwaitRoom(ctx context.Context, limit time.Duration) error {
	return a.awaitRoom(ctx, limit)
}

// RetentionRound performs the due steps of retentions, and returns the results.
func (a *Activities) RetentionRound(ctx context.Context) ([]RemovedRows, error) {
	var round CleanupRound
	err := a.retentionRound(ctx, &round)
	return round.Removed, err
}

// Admit exports admit.
func (p *BulkPace) Admit(now time.Time, lately store.Awaiting) bool { return p.admit(now, lately) }

// Paced returns the rows of a bulk send that may be sent now, and the time until the next batch.
func Paced(work *store.BulkWork, now time.Time) ([]*models.BulkRow, time.Duration) {
	return paced(work, now)
}

// MailEach emails addressees, of whom there are n, until begin has ended.
func MailEach(begin context.Context, n int, send func() error) error {
	return mailEach(begin, make([]addressee, n), func(addressee) error { return send() })
}
