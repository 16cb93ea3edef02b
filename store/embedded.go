package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// CreateEmbeddedSession stores an embedded session.
func (s *Store) CreateEmbeddedSession(ctx context.Context, e *models.EmbeddedSession) error {
	e.ID = s.newID()
	if err := s.make(ctx, e, func(tx *gorm.DB) error { return tx.Create(e).Error }); err != nil {
		return fmt.Errorf("create embedded session: %w", err)
	}
	return nil
}

// EmbeddedSessionByToken finds the session of a token's hash.
func (s *Store) EmbeddedSessionByToken(ctx context.Context, hash []byte) (*models.EmbeddedSession, error) {
	e := &models.EmbeddedSession{}
	if err := s.db.WithContext(ctx).Take(e, "token_hash = ?", hash).Error; err != nil {
		return nil, fmt.Errorf("load embedded session: %w", mapNotFound(err))
	}
	return e, nil
}

// EmbeddedSession loads an embedded session.
func (s *Store) EmbeddedSession(ctx context.Context, id uuid.UUID) (*models.EmbeddedSession, error) {
	e := &models.EmbeddedSession{}
	if err := s.db.WithContext(ctx).Take(e, "id = ?", id).Error; err != nil {
		return nil, fmt.Errorf("load embedded session %s: %w", id, mapNotFound(err))
	}
	return e, nil
}

// revokeEmbeddedSessions ends all sessions of a signer: they were made for a person whom
// another has replaced.
func revokeEmbeddedSessions(b *batch, signer uuid.UUID, at time.Time) {
	b.exec("UPDATE embedded_sessions SET revoked_at = $1 WHERE signer_id = $2 AND revoked_at IS NULL", at, signer)
}

// RevokeEmbeddedSession ends an app's session at once. Ending it again changes nothing.
func (s *Store) RevokeEmbeddedSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	e, err := s.EmbeddedSession(ctx, id)
	if err != nil {
		return err
	}
	if e.AppID != app.ID || app.CheckTenant(e.TenantID) != nil {
		return models.ErrNotFound
	}
	err = s.db.WithContext(ctx).Model(e).Where("revoked_at IS NULL").Update("revoked_at", s.now()).Error
	if err != nil {
		return fmt.Errorf("revoke embedded session %s: %w", id, err)
	}
	return nil
}
