package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Sessions of pages that an app embeds in its own: an embedded session lets a signer sign,
// and a builder session lets somebody prepare a draft or a template.

// CreateEmbeddedSession stores an embedded session, if its signer still has the link with
// which the caller has seen them: another person who took the place meanwhile has another
// one, and no session of the person before.
func (s *Store) CreateEmbeddedSession(ctx context.Context, e *models.EmbeddedSession, link uuid.UUID) error {
	e.ID = s.newID()
	return wrap(s.make(ctx, e, func(tx *gorm.DB) error {
		if s.postgres { // no change of the envelope until the session is there for it to revoke; SQLite has one writer
			if err := tx.Exec("SELECT id FROM envelopes WHERE id = ? FOR SHARE", e.EnvelopeID).Error; err != nil {
				return err
			}
		}
		var n int64
		if err := tx.Model(&models.Signer{}).Where("id = ? AND link_id = ?", e.SignerID, link).Count(&n).Error; err != nil {
			return err
		}
		if n == 0 {
			return models.ErrSignerChanged
		}
		return tx.Create(e).Error
	}), "create embedded session")
}

// EmbeddedSessionByToken finds the session of a token's hash.
func (s *Store) EmbeddedSessionByToken(ctx context.Context, hash []byte) (*models.EmbeddedSession, error) {
	e, err := take[models.EmbeddedSession](s.db.WithContext(ctx), "token_hash = ?", hash)
	return e, wrap(err, "load embedded session")
}

// EmbeddedSession loads an embedded session.
func (s *Store) EmbeddedSession(ctx context.Context, id uuid.UUID) (*models.EmbeddedSession, error) {
	e, err := take[models.EmbeddedSession](s.db.WithContext(ctx), "id = ?", id)
	return e, wrap(err, "load embedded session %s", id)
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
	return wrap(s.revokeSession(ctx, app, e.PageSession, e), "revoke embedded session %s", id)
}

// revokeSession ends the session of a row.
func (s *Store) revokeSession(ctx context.Context, app *models.App, of models.PageSession, row any) error {
	if of.AppID != app.ID || app.CheckTenant(of.TenantID) != nil {
		return models.ErrNotFound
	}
	return s.db.WithContext(ctx).Model(row).Where("revoked_at IS NULL").Update("revoked_at", s.now()).Error
}

// CreateBuilderSession stores a builder session.
func (s *Store) CreateBuilderSession(ctx context.Context, b *models.BuilderSession) error {
	b.ID = s.newID()
	return wrap(s.make(ctx, b, func(tx *gorm.DB) error { return tx.Create(b).Error }), "create builder session")
}

// BuilderSessionByToken finds the session of a token's hash.
func (s *Store) BuilderSessionByToken(ctx context.Context, hash []byte) (*models.BuilderSession, error) {
	b, err := take[models.BuilderSession](s.db.WithContext(ctx), "token_hash = ?", hash)
	return b, wrap(err, "load builder session")
}

// RevokeBuilderSession ends an app's session at once. Ending it again changes nothing.
func (s *Store) RevokeBuilderSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	b, err := take[models.BuilderSession](s.db.WithContext(ctx), "id = ?", id)
	if err != nil {
		return fmt.Errorf("load builder session %s: %w", id, err)
	}
	return wrap(s.revokeSession(ctx, app, b.PageSession, b), "revoke builder session %s", id)
}
