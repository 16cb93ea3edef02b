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

// Stall returns the time without progress after which the interceptor restarts an activity.
func Stall(i interceptor.ActivityInboundInterceptor) time.Duration { return i.(*keepAlive).stall }

// Known exports known for a tenant whose contact has the given address.
func Known(kind models.NotificationKind, e *models.Envelope, s *models.Signer, user *models.ConsoleUser, contact string) bool {
	return known(kind, e, s, user, mailSettings{notify: contact})
}

// Overtaken exports overtaken.
func Overtaken(kind models.NotificationKind, e *models.Envelope, s *models.Signer, chosen *models.NotificationSettings, later []models.Event) bool {
	return overtaken(kind, e, s, chosen, later)
}

// Notify exports notification.
func Notify(a *Activities, kind models.NotificationKind, e *models.Envelope, s *models.Signer, ev *models.Event) templates.Notification {
	return a.notification(templates.To{}, kind, e, s, ev)
}

// MailEach exports mailEach for n addressees.
func MailEach(begin context.Context, n int, send func() error) error {
	return mailEach(begin, make([]addressee, n), func(addressee) error { return send() })
}
