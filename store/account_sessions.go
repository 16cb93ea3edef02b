package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

const (
	labelConsoleDevice = "console-device"
	// maxSessions is the maximum number of sessions of a console user. An additional session ends the oldest one.
	maxSessions = 20
	// lastSeenPrecision is the precision of the stored time of a user's last activity.
	lastSeenPrecision = time.Minute
)

// Device identifies the device on which a console user signed in.
type Device struct {
	IP        string `json:"ip"`
	UserAgent string `json:"userAgent"`
}

// ActiveSession is a valid session with its user.
type ActiveSession struct {
	Session models.ConsoleSession
	User    *models.ConsoleUser
	Factor  bool // whether the user has a second factor
}

// StartConsoleSession starts a console user's session. provedAt is the time at which the user authenticated with the
// provider, or nil if it is unknown or a password was used.
func (s *UserRepository) StartConsoleSession(ctx context.Context, user uuid.UUID, on Device, lifetime time.Duration, provedAt *time.Time) (*models.ConsoleSession, error) {
	device, err := json.Marshal(on)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	now := s.now()
	session := &models.ConsoleSession{
		ID: s.newID(), UserID: user, Device: s.vault.Encrypt(device, labelConsoleDevice), CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(lifetime), ProvedAt: provedAt,
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(session).Error; err != nil {
			return err
		}
		newest := tx.Model(&models.ConsoleSession{}).Select("id").Where("user_id = ?", user).Order("created_at DESC, id DESC").Limit(maxSessions)
		return tx.Where("user_id = ? AND id NOT IN (?)", user, newest).Delete(&models.ConsoleSession{}).Error
	})
	return session, wrap(err, "sign in")
}

// ConsoleSession returns a session and its user. It returns models.ErrNotFound if the session was ended, is too old or
// has been idle for too long. If acting is set, the user is performing an action, which resets the idle timeout.
func (s *UserRepository) ConsoleSession(ctx context.Context, id uuid.UUID, idle time.Duration, acting bool) (*ActiveSession, error) {
	var row struct {
		models.ConsoleSession

		Factor bool
	}
	now := s.now()
	db := s.db.WithContext(ctx)
	err := db.Model(&models.ConsoleSession{}).
		Select("console_sessions.*, (EXISTS (SELECT 1 FROM console_factors f WHERE f.id = user_id AND f.confirmed_at IS NOT NULL) OR EXISTS (SELECT 1 FROM console_passkeys p WHERE p.user_id = console_sessions.user_id)) AS factor").
		Where("console_sessions.id = ? AND expires_at > ? AND seen_at > ?", id, now, now.Add(-idle)).Take(&row).Error
	if err != nil {
		return nil, fmt.Errorf("load console session: %w", mapNotFound(err))
	}
	user, err := s.User(ctx, row.UserID)
	if err != nil {
		return nil, err
	}
	if acting && now.Sub(row.SeenAt) >= lastSeenPrecision {
		if err := db.Model(&models.ConsoleSession{}).Where("id = ?", id).Update("seen_at", now).Error; err != nil {
			return nil, fmt.Errorf("store console session: %w", err)
		}
	}
	return &ActiveSession{Session: row.ConsoleSession, User: user, Factor: row.Factor}, nil
}

// ConsoleSessions lists the valid sessions of a console user and their devices, newest first.
func (s *UserRepository) ConsoleSessions(ctx context.Context, user uuid.UUID, idle time.Duration) ([]models.ConsoleSession, []Device, error) {
	now := s.now()
	rows, err := find[models.ConsoleSession](s.db.WithContext(ctx).Where("user_id = ? AND expires_at > ? AND seen_at > ?", user, now, now.Add(-idle)).
		Order("created_at DESC, id DESC").Limit(maxSessions))
	if err != nil {
		return nil, nil, fmt.Errorf("list console sessions: %w", err)
	}
	devices := make([]Device, len(rows))
	for i, r := range rows {
		plain, err := s.vault.Decrypt(r.Device, labelConsoleDevice)
		if err == nil {
			err = json.Unmarshal(plain, &devices[i])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read console session %s: %w", r.ID, err)
		}
	}
	return rows, devices, nil
}

// EndConsoleSession ends a session of a console user.
func (s *UserRepository) EndConsoleSession(ctx context.Context, user, session uuid.UUID) error {
	result := s.db.WithContext(ctx).Where("id = ? AND user_id = ?", session, user).Delete(&models.ConsoleSession{})
	return wrap(requireRows(result, models.ErrNotFound), "end console session")
}

// EndConsoleSessions ends all sessions of a console user except keepSession, which may be uuid.Nil.
func (s *UserRepository) EndConsoleSessions(ctx context.Context, user, keepSession uuid.UUID) error {
	return endSessions(s.db.WithContext(ctx), user, keepSession)
}

func endSessions(db *gorm.DB, user, keepSession uuid.UUID) error {
	return wrap(db.Where("user_id = ? AND id <> ?", user, keepSession).Delete(&models.ConsoleSession{}).Error, "end console sessions")
}

// EndAllConsoleSessions ends the sessions of all console users.
func (s *UserRepository) EndAllConsoleSessions(ctx context.Context) error {
	return wrap(s.db.WithContext(ctx).Where("true").Delete(&models.ConsoleSession{}).Error, "end console sessions")
}
