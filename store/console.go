package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// CreateUser makes a console user of an app.
func (s *Store) CreateUser(ctx context.Context, app uuid.UUID, email, name, password string, role models.Role) (*models.ConsoleUser, error) {
	p := models.Problems{}
	models.CheckEmail(p, "email", email)
	models.CheckText(p, "name", name, 1, 255)
	unread := s.checkPassword(p, "password", password, name, email)
	if !role.Known() {
		p.Add("role", "must be viewer, support or admin")
	}
	if err := cmp.Or(unread, p.Err()); err != nil {
		return nil, err
	}
	if _, err := s.App(ctx, app); err != nil {
		return nil, err
	}
	hash, err := s.hashPassword(password)
	if err != nil {
		return nil, err
	}
	u := &models.ConsoleUser{
		ID: s.newID(), AppID: app, Email: email, Name: name, PasswordHash: hash, Role: role, CreatedAt: s.now(),
	}
	keys := s.userKeys(email)
	u.EmailKey = keys[0]
	exists := models.Refuse(models.KindConflict, "user_exists", "There is a console user with that e-mail address already.")
	err = s.make(ctx, u, func(tx *gorm.DB) error {
		var known int64
		if err := tx.Model(u).Where("email_key IN ?", keys).Count(&known).Error; err != nil {
			return err
		}
		if known > 0 {
			return exists
		}
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(sealed(s, u))
		if res.Error == nil && res.RowsAffected == 0 {
			return exists
		}
		return res.Error
	})
	if err != nil {
		return nil, fmt.Errorf("create console user: %w", err)
	}
	return u, nil
}

// Login returns the console user that the credentials belong to, or
// models.ErrNotFound, without telling which part was wrong.
func (s *Store) Login(ctx context.Context, email, password string) (*models.ConsoleUser, error) {
	p := models.Problems{}
	models.CheckEmail(p, "", strings.TrimSpace(email))
	if len(p) > 0 { // nobody's; and the database need not see what it is
		email = ""
	}
	var found []models.ConsoleUser
	err := s.db.WithContext(ctx).Where("email_key IN ? AND disabled_at IS NULL", s.userKeys(email)).Limit(1).Find(&found).Error
	if err != nil {
		return nil, fmt.Errorf("load console user: %w", err)
	}
	if len(found) == 0 {
		_ = isPassword(decoyHash, password) // only for the time it takes
		return nil, models.ErrNotFound
	}
	if !isPassword(found[0].PasswordHash, password) {
		return nil, models.ErrNotFound
	}
	return &found[0], unseal(s, &found[0])
}

// User loads a console user who may still sign in.
func (s *Store) User(ctx context.Context, id uuid.UUID) (*models.ConsoleUser, error) {
	u := &models.ConsoleUser{}
	if err := s.db.WithContext(ctx).Take(u, "id = ? AND disabled_at IS NULL", id).Error; err != nil {
		return nil, fmt.Errorf("load console user %s: %w", id, found(err))
	}
	return u, unseal(s, u)
}

// Users lists an app's console users, oldest first.
func (s *Store) Users(ctx context.Context, app uuid.UUID) ([]models.ConsoleUser, error) {
	out := []models.ConsoleUser{}
	if err := s.db.WithContext(ctx).Where("app_id = ? AND disabled_at IS NULL", app).Order("id").Find(&out).Error; err != nil {
		return nil, fmt.Errorf("list console users: %w", err)
	}
	return out, unsealAll(s, pointers(out))
}

// DisableUser keeps a console user from signing in; sessions end at once.
func (s *Store) DisableUser(ctx context.Context, app, id uuid.UUID) error {
	res := s.db.WithContext(ctx).Model(&models.ConsoleUser{}).Where("id = ? AND app_id = ? AND disabled_at IS NULL", id, app).
		Updates(map[string]any{"disabled_at": s.now(), "email_key": "disabled:" + id.String()})
	if res.Error == nil && res.RowsAffected == 0 {
		return models.ErrNotFound
	}
	if res.Error != nil {
		return fmt.Errorf("disable console user %s: %w", id, res.Error)
	}
	return nil
}

// Used is the number of envelopes that an app has sent in the current period.
func (s *Store) Used(ctx context.Context, app uuid.UUID) (int, error) {
	var n int
	err := s.db.WithContext(ctx).Raw(`SELECT COALESCE(SUM(envelopes), 0) FROM usage WHERE app_id = ? AND period_start = ?`,
		app, PeriodStart(s.now()).Format(time.DateOnly)).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("load usage: %w", err)
	}
	return n, nil
}

// CreateEmbeddedSession stores an embedded session.
func (s *Store) CreateEmbeddedSession(ctx context.Context, e *models.EmbeddedSession) error {
	e.ID = s.newID()
	if err := s.make(ctx, e, func(tx *gorm.DB) error { return tx.Create(e).Error }); err != nil {
		return fmt.Errorf("create embedded session: %w", err)
	}
	return nil
}

// SessionByToken finds the session of a token's hash.
func (s *Store) SessionByToken(ctx context.Context, hash []byte) (*models.EmbeddedSession, error) {
	e := &models.EmbeddedSession{}
	if err := s.db.WithContext(ctx).Take(e, "token_hash = ?", hash).Error; err != nil {
		return nil, fmt.Errorf("load embedded session: %w", found(err))
	}
	return e, nil
}

// Session loads an embedded session.
func (s *Store) Session(ctx context.Context, id uuid.UUID) (*models.EmbeddedSession, error) {
	e := &models.EmbeddedSession{}
	if err := s.db.WithContext(ctx).Take(e, "id = ?", id).Error; err != nil {
		return nil, fmt.Errorf("load embedded session %s: %w", id, found(err))
	}
	return e, nil
}

// RevokeSession ends an app's session at once. Ending it again changes nothing.
func (s *Store) RevokeSession(ctx context.Context, app *models.App, id uuid.UUID) error {
	e, err := s.Session(ctx, id)
	if err != nil {
		return err
	}
	if e.AppID != app.ID || app.MayUse(e.TenantID) != nil {
		return models.ErrNotFound
	}
	err = s.db.WithContext(ctx).Model(e).Where("revoked_at IS NULL").Update("revoked_at", s.now()).Error
	if err != nil {
		return fmt.Errorf("revoke embedded session %s: %w", id, err)
	}
	return nil
}
