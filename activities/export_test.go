package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/interceptor"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/store"
)

// NonRetryable exports nonRetryable.
func NonRetryable(err error) error { return nonRetryable(err) }

// AwaitThrottle exports awaitThrottle.
func (a *Activities) AwaitThrottle(ctx context.Context, limit time.Duration) error {
	return a.awaitThrottle(ctx, limit)
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
func (p *BulkThrottle) Admit(now time.Time, lately store.Awaiting) bool { return p.admit(now, lately) }

// RowsWithinRate exports rowsWithinRate.
func RowsWithinRate(work *store.BulkWork, now time.Time) ([]*models.BulkRow, time.Duration) {
	return rowsWithinRate(work, now)
}

// Stall returns the time without progress after which the interceptor restarts an activity.
func Stall(i interceptor.ActivityInboundInterceptor) time.Duration { return i.(*keepAlive).stall }

// AlreadyKnown exports alreadyKnown for a tenant whose contact has the given address.
func AlreadyKnown(kind models.NotificationKind, e *models.Envelope, s *models.Signer, user *models.ConsoleUser, contact string) bool {
	return alreadyKnown(kind, e, s, user, mailSettings{notify: contact})
}

// Superseded exports superseded.
func Superseded(kind models.NotificationKind, e *models.Envelope, s *models.Signer, chosen *models.NotificationSettings, later []models.Event) bool {
	return superseded(kind, e, s, chosen, later)
}

// Notify exports notification.
func Notify(a *Activities, kind models.NotificationKind, e *models.Envelope, s *models.Signer, ev *models.Event) templates.Notification {
	return a.notification(templates.To{}, kind, e, s, ev)
}

// SendToEach exports sendToEach for n addressees.
func SendToEach(begin context.Context, n int, send func() error) error {
	return sendToEach(begin, make([]addressee, n), func(addressee) error { return send() })
}
