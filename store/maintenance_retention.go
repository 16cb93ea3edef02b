package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// RetentionStep is an envelope whose next retention step is due. The step is either a deletion reminder or the purge.
type RetentionStep struct {
	ID             uuid.UUID
	AppID          uuid.UUID
	TenantID       string
	RetentionDueAt time.Time
}

// RetentionSteps lists up to n due steps, oldest first.
func (s *MaintenanceRepository) RetentionSteps(ctx context.Context, n int) ([]RetentionStep, error) {
	steps, err := find[RetentionStep](s.db.WithContext(ctx).Model(&models.Envelope{}).Select("id, app_id, tenant_id, retention_due_at").
		Where("retention_due_at <= ?", s.now().UTC()).Order("retention_due_at").Limit(n))
	return steps, wrap(err, "list due retention steps")
}

// SetRetentionStep sets the time of an envelope's next step, or removes the step if next is nil. If days is not zero,
// it also requests a reminder with that number of remaining days. It has no effect if another process has already
// performed the current step.
func (s *MaintenanceRepository) SetRetentionStep(ctx context.Context, step RetentionStep, next *time.Time, days int) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		result := t.gorm().Table("envelopes").Where("id = ? AND retention_due_at = ?", step.ID, step.RetentionDueAt).UpdateColumn("retention_due_at", next)
		if result.Error == nil && result.RowsAffected == 1 && days > 0 {
			addOutbox(t, s.outboxRow(s.now(), step.ID, models.OutboxDeletion, models.OutboxRefs{AppID: step.AppID, TenantID: step.TenantID, Days: days}))
		}
		return result.Error
	})
	return wrap(err, "set next retention step of envelope %s", step.ID)
}
