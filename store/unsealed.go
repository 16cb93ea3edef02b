package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Unsealed is an envelope that all have signed and whose documents cannot be sealed.
type Unsealed struct {
	ID               uuid.UUID
	AppID            uuid.UUID
	SealingProblem   models.SealingProblem
	SealingProblemAt time.Time
}

func unsealed(db *gorm.DB) *gorm.DB {
	return db.Model(&models.Envelope{}).Where("sealing_problem IS NOT NULL AND status = ?", models.StatusSealing)
}

// UnsealedEnvelopes lists them, the oldest problem first, up to n.
func (s *Store) UnsealedEnvelopes(ctx context.Context, n int) ([]Unsealed, error) {
	var rows []Unsealed
	err := unsealed(s.db.WithContext(ctx)).Select("id, app_id, sealing_problem, sealing_problem_at").
		Order("sealing_problem_at, id").Limit(n).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list envelopes that cannot be sealed: %w", err)
	}
	return rows, nil
}

// CountUnsealed is how many there are.
func (s *Store) CountUnsealed(ctx context.Context) (int64, error) {
	var n int64
	if err := unsealed(s.db.WithContext(ctx)).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count envelopes that cannot be sealed: %w", err)
	}
	return n, nil
}
