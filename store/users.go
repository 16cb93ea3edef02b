package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// UserDetail is a console user as administrators see one.
type UserDetail struct {
	models.ConsoleUser

	SecondFactor bool
	SeenAt       *time.Time // when the user last did something in a session that holds; nil: signed in nowhere
}

// UserDetails lists an app's console users, oldest first.
func (s *Store) UserDetails(ctx context.Context, app uuid.UUID) ([]UserDetail, error) {
	users, err := s.Users(ctx, app)
	if err != nil {
		return nil, err
	}
	var factors []uuid.UUID
	var sessions []models.ConsoleSession
	ids := make([]uuid.UUID, len(users))
	for i := range users {
		ids[i] = users[i].ID
	}
	db := s.db.WithContext(ctx)
	if err := db.Model(&models.ConsoleFactor{}).Where("id IN ? AND confirmed_at IS NOT NULL", ids).Pluck("id", &factors).Error; err != nil {
		return nil, fmt.Errorf("list second factors: %w", err)
	}
	if err := db.Select("user_id", "seen_at").Where("user_id IN ? AND expires_at > ?", ids, s.now()).Find(&sessions).Error; err != nil {
		return nil, fmt.Errorf("list console sessions: %w", err)
	}
	out := make([]UserDetail, len(users))
	at := make(map[uuid.UUID]*UserDetail, len(users))
	for i := range users {
		out[i].ConsoleUser = users[i]
		at[users[i].ID] = &out[i]
	}
	for _, id := range factors {
		at[id].SecondFactor = true
	}
	for i := range sessions {
		if u := at[sessions[i].UserID]; u.SeenAt == nil || u.SeenAt.Before(sessions[i].SeenAt) {
			u.SeenAt = &sessions[i].SeenAt
		}
	}
	return out, nil
}

// UserChange is what can be changed of a console user; nil leaves it.
type UserChange struct {
	Name *string
	Role *models.Role
}

// UpdateUser changes a console user of an app. A new role holds from the user's
// next request on.
func (s *Store) UpdateUser(ctx context.Context, app, id uuid.UUID, c UserChange) (*models.ConsoleUser, error) {
	u := &models.ConsoleUser{}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(u, "id = ? AND app_id = ? AND disabled_at IS NULL", id, app).Error; err != nil {
			return found(err)
		}
		if err := unseal(s, u); err != nil {
			return err
		}
		p := models.Problems{}
		if c.Name != nil {
			models.CheckText(p, "name", *c.Name, 1, 255)
			u.Name = *c.Name
		}
		if c.Role != nil {
			if !c.Role.Known() {
				p.Add("role", "must be viewer, support or admin")
			}
			u.Role = *c.Role
		}
		if err := p.Err(); err != nil {
			return err
		}
		return tx.Model(&models.ConsoleUser{}).Where("id = ?", id).Updates(map[string]any{"name": u.Name, "role": u.Role}).Error
	})
	if err != nil {
		return nil, fmt.Errorf("update console user %s: %w", id, err)
	}
	return u, nil
}
