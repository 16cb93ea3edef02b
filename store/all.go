package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// Ref names an envelope and the app it belongs to.
type Ref struct {
	ID    uuid.UUID
	AppID uuid.UUID
}

// AllEnvelopes lists the envelopes of all apps by id, n at a time: those after
// the given one, of the given statuses or, without any, of all. It is for
// operators; no request of an app may use it.
func (s *Store) AllEnvelopes(ctx context.Context, after uuid.UUID, n int, statuses ...models.Status) ([]Ref, error) {
	q := s.db.WithContext(ctx).Model(&models.Envelope{}).Where("id > ?", after)
	if len(statuses) > 0 {
		q = q.Where("status IN ?", statuses)
	}
	var out []Ref
	if err := q.Select("id, app_id").Order("id").Limit(n).Find(&out).Error; err != nil {
		return nil, fmt.Errorf("list all envelopes: %w", err)
	}
	return out, nil
}

// Untimestamped lists the envelopes of all apps whose sealed documents have no
// document time-stamp, or one that ends before the given time, by id and n at a
// time after the given one. It is for operators.
func (s *Store) Untimestamped(ctx context.Context, before time.Time, after uuid.UUID, n int) ([]Ref, error) {
	var out []Ref
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).Where(`id > ? AND status = ? AND EXISTS (SELECT 1 FROM documents AS d
		WHERE d.envelope_id = envelopes.id AND d.kind = ? AND d.purge_status = ? AND (d.timestamped_until IS NULL OR d.timestamped_until < ?))`,
		after, models.StatusCompleted, models.DocumentSealed, models.PurgeActive, before.UTC()).
		Select("id, app_id").Order("id").Limit(n).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list what needs a time-stamp: %w", err)
	}
	return out, nil
}

// AnyEnvelope finds an envelope of whatever app. It is for operators.
func (s *Store) AnyEnvelope(ctx context.Context, id uuid.UUID) (Ref, error) {
	var out Ref
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).Select("id, app_id").Where("id = ?", id).Take(&out).Error
	if err != nil {
		return out, fmt.Errorf("find envelope %s: %w", id, found(err))
	}
	return out, nil
}
