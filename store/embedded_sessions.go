package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// EmbeddedRepository stores embedded signing sessions and builder sessions.
type EmbeddedRepository struct {
	*engine

	envelopes *EnvelopeRepository
}

// An embedded session lets a signer sign on a page that an app embeds. A builder session lets a user prepare a draft or
// a template on such a page.

// CreateEmbeddedSession stores an embedded session and fn's changes to its envelope in a single transaction. The
// envelope stays locked until the session is stored, so that any later change can revoke the session.
func (s *EmbeddedRepository) CreateEmbeddedSession(ctx context.Context, session *models.EmbeddedSession, fn func(*models.Envelope) error) error {
	session.ID = s.newID()
	err := s.envelopes.changing(ctx, func(t *transaction) error {
		if _, err := s.envelopes.change(t, session.AppID, session.EnvelopeID, loadOptions{}, func(l *loaded) error { return fn(l.envelopes[0]) }); err != nil {
			return err
		}
		return t.gorm().Create(session).Error
	})
	return wrap(err, "create embedded session")
}

// EmbeddedSessionByToken loads an embedded session by the hash of its token.
func (s *EmbeddedRepository) EmbeddedSessionByToken(ctx context.Context, hash []byte) (*models.EmbeddedSession, error) {
	e, err := one[models.EmbeddedSession](s.db.WithContext(ctx), "token_hash = ?", hash)
	return e, wrap(err, "load embedded session")
}

// EmbeddedSession loads an embedded session.
func (s *EmbeddedRepository) EmbeddedSession(ctx context.Context, id uuid.UUID) (*models.EmbeddedSession, error) {
	e, err := one[models.EmbeddedSession](s.db.WithContext(ctx), "id = ?", id)
	return e, wrap(err, "load embedded session %s", id)
}

func revokeEmbeddedSessions(b *batch, _ *models.Envelope, ev *models.Event) {
	if replacesSigner(ev) {
		b.exec("UPDATE embedded_sessions SET revoked_at = $1 WHERE signer_id = $2 AND revoked_at IS NULL", ev.Timestamp, ev.SignerID)
	}
}

// RevokeEmbeddedSession ends an app's session immediately. Repeating it has no effect.
func (s *EmbeddedRepository) RevokeEmbeddedSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	e, err := s.EmbeddedSession(ctx, id)
	if err != nil {
		return err
	}
	return wrap(s.revokeSession(ctx, app, e.PageSession, e), "revoke embedded session %s", id)
}

func (s *EmbeddedRepository) revokeSession(ctx context.Context, app *models.App, of models.PageSession, row any) error {
	if of.AppID != app.ID || app.CheckTenant(of.TenantID) != nil {
		return models.ErrNotFound
	}
	return s.db.WithContext(ctx).Model(row).Where("revoked_at IS NULL").Update("revoked_at", s.now()).Error
}

// CreateBuilderSession stores a builder session.
func (s *EmbeddedRepository) CreateBuilderSession(ctx context.Context, b *models.BuilderSession) error {
	b.ID = s.newID()
	return wrap(s.tx(ctx, func(tx *gorm.DB) error { return tx.Create(b).Error }), "create builder session")
}

// BuilderSessionByToken loads a builder session by the hash of its token.
func (s *EmbeddedRepository) BuilderSessionByToken(ctx context.Context, hash []byte) (*models.BuilderSession, error) {
	b, err := one[models.BuilderSession](s.db.WithContext(ctx), "token_hash = ?", hash)
	return b, wrap(err, "load builder session")
}

// RevokeBuilderSession ends an app's session immediately. Repeating it has no effect.
func (s *EmbeddedRepository) RevokeBuilderSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	b, err := one[models.BuilderSession](s.db.WithContext(ctx), "id = ?", id)
	if err != nil {
		return fmt.Errorf("load builder session %s: %w", id, err)
	}
	return wrap(s.revokeSession(ctx, app, b.PageSession, b), "revoke builder session %s", id)
}
