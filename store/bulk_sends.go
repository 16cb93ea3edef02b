package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// BulkSends lists an app's bulk sends of one tenant or of all (""), newest first and
// with the numbers of their rows, and tells how many there are in all.
func (s *Store) BulkSends(ctx context.Context, app uuid.UUID, tenant string, page, size int) (list []*BulkSendWithCounts, total int64, err error) {
	err = s.fromReplica(ctx, func(s *Store) error {
		list, total, err = s.bulkSends(ctx, app, tenant, page, size)
		return err
	})
	return list, total, err
}

func (s *Store) bulkSends(ctx context.Context, app uuid.UUID, tenant string, page, size int) ([]*BulkSendWithCounts, int64, error) {
	var out []*BulkSendWithCounts
	var total int64
	err := s.read(ctx, func(tx *gorm.DB) error {
		q := tx.Model(&models.BulkSend{}).Where("app_id = ?", app)
		if tenant != "" {
			q = q.Where("tenant_id = ?", tenant)
		}
		if err := q.Session(&gorm.Session{}).Count(&total).Error; err != nil {
			return err
		}
		var found []*models.BulkSend
		if err := q.Session(&gorm.Session{}).Order("id DESC").Offset((page - 1) * size).Limit(size).Find(&found).Error; err != nil {
			return err
		}
		var err error
		out, err = withBulkCounts(tx, found)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list bulk sends: %w", err)
	}
	return out, total, nil
}

// withBulkCounts counts the rows of some bulk sends.
func withBulkCounts(tx *gorm.DB, found []*models.BulkSend) ([]*BulkSendWithCounts, error) {
	if len(found) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(found))
	for i, b := range found {
		ids[i] = b.ID
	}
	var numbers []struct {
		BulkSendID uuid.UUID
		Status     models.BulkRowStatus
		N          int
	}
	err := tx.Raw("SELECT bulk_send_id, status, count(*) AS n FROM bulk_send_rows WHERE bulk_send_id IN ? GROUP BY bulk_send_id, status", ids).Scan(&numbers).Error
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]*models.BulkCounts, len(found))
	out := make([]*BulkSendWithCounts, len(found))
	for i, b := range found {
		out[i] = &BulkSendWithCounts{BulkSend: b}
		counts[b.ID] = &out[i].Counts
	}
	for _, n := range numbers {
		counts[n.BulkSendID].Add(n.Status, n.N)
	}
	return out, nil
}
