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

// UserRepository stores console users and their second factors, passkeys and sessions.
type UserRepository struct {
	*engine

	apps *AppRepository
}

func (s *UserRepository) register() {
	encryptSecrets(s.engine, "console_factors", "secret", labelConsoleFactor)
	encryptSecrets(s.engine, "console_sessions", "device", labelConsoleDevice)
	encryptSecrets(s.engine, "console_challenges", "data", labelConsoleChallenge)
	encryptRows(s.engine, func(v *models.ConsoleUser) encryptedRow {
		return encryptedRow{"console_users", v.ID.String(), []encryptedColumn{{name: "email", text: &v.Email}}}
	})
	rewrapRows(s.engine, "id", s.rehashUser)
}

// UserDetail is a console user as shown to administrators.
type UserDetail struct {
	models.ConsoleUser

	SecondFactor bool
	SeenAt       *time.Time // time of the last activity in a valid session; nil if not signed in
}

// UserDetails lists an app's console users, oldest first.
func (s *UserRepository) UserDetails(ctx context.Context, app uuid.UUID) ([]UserDetail, error) {
	users, err := s.Users(ctx, app)
	if err != nil {
		return nil, err
	}
	var factors, passkeys []uuid.UUID
	ids := mapSlice(users, func(u models.ConsoleUser) uuid.UUID { return u.ID })
	db := s.db.WithContext(ctx)
	if err := db.Model(&models.ConsoleFactor{}).Where("id IN ? AND confirmed_at IS NOT NULL", ids).Pluck("id", &factors).Error; err != nil {
		return nil, fmt.Errorf("list second factors: %w", err)
	}
	if err := db.Model(&models.ConsolePasskey{}).Where("user_id IN ?", ids).Distinct().Pluck("user_id", &passkeys).Error; err != nil {
		return nil, fmt.Errorf("list passkeys: %w", err)
	}
	sessions, err := find[models.ConsoleSession](db.Select("user_id", "seen_at").Where("user_id IN ? AND expires_at > ?", ids, s.now()))
	if err != nil {
		return nil, fmt.Errorf("list console sessions: %w", err)
	}
	out := make([]UserDetail, len(users))
	at := make(map[uuid.UUID]*UserDetail, len(users))
	for i := range users {
		out[i].ConsoleUser = users[i]
		at[users[i].ID] = &out[i]
	}
	for _, id := range append(factors, passkeys...) {
		at[id].SecondFactor = true
	}
	for i := range sessions {
		if u := at[sessions[i].UserID]; u.SeenAt == nil || u.SeenAt.Before(sessions[i].SeenAt) {
			u.SeenAt = &sessions[i].SeenAt
		}
	}
	return out, nil
}

// UserChange describes the changes to a console user. Nil fields are left unchanged.
type UserChange struct {
	Name *string
	Role *models.Role
}

// UpdateUser changes a console user of an app. A new role takes effect on the user's next request.
func (s *UserRepository) UpdateUser(ctx context.Context, app, id uuid.UUID, c UserChange) (*models.ConsoleUser, error) {
	var u *models.ConsoleUser
	err := s.tx(ctx, func(tx *gorm.DB) (err error) {
		if u, err = oneDecrypted[models.ConsoleUser](s.engine, s.locked(tx), "id = ? AND app_id = ? AND disabled_at IS NULL", id, app); err != nil {
			return err
		}
		p := models.Problems{}
		if c.Name != nil {
			models.CheckText(p, "name", *c.Name, 1, 255)
			u.Name = *c.Name
		}
		if c.Role != nil {
			if !c.Role.Valid() {
				p.Add("role", "must be viewer, support, sender or admin")
			} else if u.AtProvider() && *c.Role != u.Role {
				return models.Reject(models.KindConflict, "provider_account", "This user signs in through the provider, which assigns the role.")
			}
			u.Role = *c.Role
		}
		if err := p.Err(); err != nil {
			return err
		}
		return tx.Model(&models.ConsoleUser{}).Where("id = ?", id).Updates(map[string]any{"name": u.Name, "role": u.Role}).Error
	})
	return u, wrap(err, "update console user %s", id)
}

// CreateUser creates a console user of an app.
func (s *UserRepository) CreateUser(ctx context.Context, app uuid.UUID, email, name, password string, role models.Role) (*models.ConsoleUser, error) {
	p := models.Problems{}
	models.CheckEmail(p, "email", email)
	models.CheckText(p, "name", name, 1, 255)
	unread := s.validatePassword(p, "password", password, name, email)
	if !role.Valid() {
		p.Add("role", "must be viewer, support, sender or admin")
	}
	if err := cmp.Or(unread, p.Err()); err != nil {
		return nil, err
	}
	hash, err := s.hashPassword(password)
	if err != nil {
		return nil, err
	}
	if _, err := s.apps.App(ctx, app); err != nil {
		return nil, err
	}
	u := &models.ConsoleUser{
		ID: s.newID(), AppID: app, Email: email, Name: name, PasswordHash: hash, Role: role, CreatedAt: s.now(),
	}
	keys := s.userKeys(email)
	u.EmailKey = keys[0]
	exists := models.Reject(models.KindConflict, "user_exists", "A console user with this email address already exists.")
	err = s.tx(ctx, func(tx *gorm.DB) error {
		known, err := count(tx.Model(u).Where("email_key IN ?", keys))
		if err != nil {
			return err
		}
		if known > 0 {
			return exists
		}
		return requireRows(tx.Clauses(clause.OnConflict{DoNothing: true}).Create(encrypt(s.engine, u)), exists)
	})
	return u, wrap(err, "create console user")
}

// Login returns the console user with the given credentials. If they are invalid, or if the user signs in through the
// provider, it returns models.ErrNotFound without revealing the reason.
func (s *UserRepository) Login(ctx context.Context, email, password string) (*models.ConsoleUser, error) {
	p := models.Problems{}
	models.CheckEmail(p, "", strings.TrimSpace(email))
	if len(p) > 0 { // an invalid address, which no user can have
		email = ""
	}
	u, err := first[models.ConsoleUser](s.db.WithContext(ctx).Where("email_key IN ? AND disabled_at IS NULL AND oidc_subject IS NULL", s.userKeys(email)))
	if err != nil {
		return nil, fmt.Errorf("load console user: %w", err)
	}
	if u == nil {
		_ = passwordMatches(decoyHash, password) // takes the same time as for a known user
		return nil, models.ErrNotFound
	}
	if !passwordMatches(u.PasswordHash, password) {
		return nil, models.ErrNotFound
	}
	return u, decrypt(s.engine, u)
}

// ConfirmPassword verifies the password of the console user with the given ID. It returns models.ErrNotFound if the
// password is wrong, or if the user cannot sign in with a password.
func (s *UserRepository) ConfirmPassword(ctx context.Context, id uuid.UUID, password string) error {
	u, err := first[models.ConsoleUser](s.db.WithContext(ctx).Where("id = ? AND disabled_at IS NULL AND oidc_subject IS NULL", id))
	switch {
	case err != nil:
		return fmt.Errorf("load console user %s: %w", id, err)
	case u == nil || !passwordMatches(u.PasswordHash, password):
		return models.ErrNotFound
	}
	return nil
}

// User returns a console user unless the user is disabled.
func (s *UserRepository) User(ctx context.Context, id uuid.UUID) (*models.ConsoleUser, error) {
	u, err := oneDecrypted[models.ConsoleUser](s.engine, s.db.WithContext(ctx), "id = ? AND disabled_at IS NULL", id)
	return u, wrap(err, "load console user %s", id)
}

// HasUsers reports whether any app has a console user.
func (s *UserRepository) HasUsers(ctx context.Context) (bool, error) {
	n, err := count(s.db.WithContext(ctx).Model(&models.ConsoleUser{}))
	return n > 0, wrap(err, "count console users")
}

// Users lists an app's console users, oldest first.
func (s *UserRepository) Users(ctx context.Context, app uuid.UUID) ([]models.ConsoleUser, error) {
	out, err := find[models.ConsoleUser](s.db.WithContext(ctx).Where("app_id = ? AND disabled_at IS NULL", app).Order("id"))
	if err == nil {
		err = decryptAll(s.engine, pointers(out))
	}
	return out, wrap(err, "list console users")
}

// UserNames returns the names of an app's console users, including disabled ones.
func (s *UserRepository) UserNames(ctx context.Context, app uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	out := make(map[uuid.UUID]string, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := find[models.ConsoleUser](s.db.WithContext(ctx).Select("id", "name").Where("app_id = ? AND id IN ?", app, ids))
	for _, u := range rows {
		out[u.ID] = u.Name
	}
	return out, wrap(err, "load names of console users")
}

// DisableUser prevents a console user from signing in, and ends all of the user's sessions immediately. It also deletes
// the notification settings.
func (s *UserRepository) DisableUser(ctx context.Context, app, id uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		result := tx.Model(&models.ConsoleUser{}).Where("id = ? AND app_id = ? AND disabled_at IS NULL", id, app).
			Updates(map[string]any{"disabled_at": s.now(), "email_key": "disabled:" + id.String()})
		if err := requireRows(result, models.ErrNotFound); err != nil {
			return err
		}
		return removeNotifications(tx, id)
	})
	return wrap(err, "disable console user %s", id)
}

// UserOfApp loads a console user of an app.
func (s *UserRepository) UserOfApp(ctx context.Context, app, id uuid.UUID) (*models.ConsoleUser, error) {
	u, err := s.User(ctx, id)
	if err == nil && u.AppID != app {
		return nil, models.ErrNotFound
	}
	return u, err
}

// SetPassword changes a console user's password and ends all sessions except keepSession. A user who signed in through
// the provider must sign in with the password from then on.
func (s *UserRepository) SetPassword(ctx context.Context, u *models.ConsoleUser, password string, keepSession uuid.UUID) error {
	p := models.Problems{}
	err := s.validatePassword(p, "newPassword", password, u.Name, u.Email)
	if err := cmp.Or(err, p.Err()); err != nil {
		return err
	}
	hash, err := s.hashPassword(password)
	if err != nil {
		return err
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Model(&models.ConsoleUser{}).Where("id = ?", u.ID).Updates(map[string]any{"password_hash": hash, "oidc_subject": nil}).Error; err != nil {
			return err
		}
		return endSessions(tx, u.ID, keepSession)
	})
	return wrap(err, "change password of console user %s", u.ID)
}

func (s *UserRepository) userKeys(email string) []string { return s.addressKeys("users", email) }

func (s *UserRepository) rehashUser(_ *gorm.DB, u *models.ConsoleUser) error {
	if u.DisabledAt == nil {
		u.EmailKey = s.userKeys(u.Email)[0]
	}
	return nil
}
