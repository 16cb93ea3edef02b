package activities

import (
	"context"
	"time"

	"countersign/models"
	"countersign/store"
)

// NonRetryable exports nonRetryable.
func NonRetryable(err error) error { return nonRetryable(err) }

// AwaitPace exports awaitPace.
func (a *Activities) AwaitPace(ctx context.Context, limit time.Duration) error {
	return a.awaitPace(ctx, limit)
}

// RetentionRound exports retentionRound, and returns its results.
func (a *Activities) RetentionRound(ctx context.Context) ([]RemovedRows, error) {
	var round CleanupRound
	err := a.retentionRound(ctx, &round)
	return round.Removed, err
}

// Count exports count.
func (r *CleanupRound) Count(kind string, n int, more bool) { r.count(kind, n, more) }

// Admit exports admit.
func (p *BulkPace) Admit(now time.Time, lately store.Awaiting) bool { return p.admit(now, lately) }

// Paced exports paced.
func Paced(work *store.BulkWork, now time.Time) ([]*models.BulkRow, time.Duration) {
	return paced(work, now)
}

// MailEach exports mailEach for n addressees.
func MailEach(begin context.Context, n int, send func() error) error {
	return mailEach(begin, make([]addressee, n), func(addressee) error { return send() })
}
