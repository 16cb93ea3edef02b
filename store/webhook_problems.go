package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
)

// DeliveryProblem is a delivery that has failed, or that is still pending although it was due.
type DeliveryProblem struct {
	models.Delivery

	Last *models.DeliveryAttempt // the last attempt, or nil if there was none
}

// deliveryProblemDays is the number of days for which a failed delivery is listed as a problem.
const deliveryProblemDays = 30

// DeliveryProblems returns an app's deliveries without a successful attempt, newest first. The result contains at most
// limit deliveries that are waiting for their next attempt, and at most limit deliveries that have permanently failed.
func (s *WebhookRepository) DeliveryProblems(ctx context.Context, app uuid.UUID, tenants []string, limit int) ([]DeliveryProblem, error) {
	now, db := s.now(), s.db.WithContext(ctx)
	waiting, err := find[models.Delivery](ownDeliveries(db, app, tenants).
		Where("status = ? AND (attempts > 0 OR created_at < ?)", models.DeliveryPending, now.Add(-deliveryNotice)).Order("id DESC").Limit(limit))
	if err != nil {
		return nil, fmt.Errorf("list waiting deliveries: %w", err)
	}
	failed, err := find[models.Delivery](ownDeliveries(db, app, tenants).
		Where("status = ? AND id >= ?", models.DeliveryFailed, firstID(now.AddDate(0, 0, -deliveryProblemDays))).Order("id DESC").Limit(limit))
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	all := append(waiting, failed...)
	ids := mapSlice(all, func(d models.Delivery) uuid.UUID { return d.ID })
	// Attempts are numbered across resends, so the last number equals the total.
	attempts, err := findDecrypted[models.DeliveryAttempt](s.engine, db.Where("delivery_id IN ?", ids).
		Where("number = (SELECT d.attempts FROM webhook_deliveries AS d WHERE d.id = delivery_attempts.delivery_id)"))
	if err != nil {
		return nil, fmt.Errorf("load the last attempts: %w", err)
	}
	last := make(map[uuid.UUID]*models.DeliveryAttempt)
	for _, a := range attempts {
		last[a.DeliveryID] = a
	}
	return mapSlice(all, func(d models.Delivery) DeliveryProblem { return DeliveryProblem{d, last[d.ID]} }), nil
}
