package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// CreateBuilderSession stores a builder session.
func (s *Store) CreateBuilderSession(ctx context.Context, b *models.BuilderSession) error {
	b.ID = s.newID()
	if err := s.make(ctx, b, func(tx *gorm.DB) error { return tx.Create(b).Error }); err != nil {
		return fmt.Errorf("create builder session: %w", err)
	}
	return nil
}

// BuilderSessionByToken finds the session of a token's hash.
func (s *Store) BuilderSessionByToken(ctx context.Context, hash []byte) (*models.BuilderSession, error) {
	b := &models.BuilderSession{}
	if err := s.db.WithContext(ctx).Take(b, "token_hash = ?", hash).Error; err != nil {
		return nil, fmt.Errorf("load builder session: %w", mapNotFound(err))
	}
	return b, nil
}

// RevokeBuilderSession ends an app's session at once. Ending it again changes nothing.
func (s *Store) RevokeBuilderSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	b := &models.BuilderSession{}
	err := s.db.WithContext(ctx).Take(b, "id = ?", id).Error
	if err != nil {
		return fmt.Errorf("load builder session %s: %w", id, mapNotFound(err))
	}
	if b.AppID != app.ID || app.CheckTenant(b.TenantID) != nil {
		return models.ErrNotFound
	}
	if err := s.db.WithContext(ctx).Model(b).Where("revoked_at IS NULL").Update("revoked_at", s.now()).Error; err != nil {
		return fmt.Errorf("revoke builder session %s: %w", id, err)
	}
	return nil
}
