package store

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// ProviderIdentity is an identity that the OpenID provider has confirmed.
type ProviderIdentity struct {
	App             uuid.UUID // app for new users
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	Role            models.Role
}

// key returns the stored form of the identity, which is a hash of its issuer and subject.
func (i ProviderIdentity) key() []byte { return hashOf(i.Issuer + "\x00" + i.Subject) }

// Errors for signing in through the provider.
var (
	errAccountDisabled  = models.Reject(models.KindForbidden, "account_disabled", "This account is disabled. Ask an administrator of the console.")
	errAccountElsewhere = models.Reject(models.KindForbidden, "account_elsewhere", "This account belongs to another application.")
	errAccountExists    = models.Reject(models.KindConflict, "account_exists", "An account with your email address signs in with a password. Sign in with the password, and connect the account under \"Your account\".")
	errEmailUnverified  = models.Reject(models.KindForbidden, "email_unverified", "The provider does not confirm that your email address is verified. Verify it there, then sign in again.")
	errIdentityTaken    = models.Reject(models.KindConflict, "identity_taken", "Another account is already connected to that provider account.")
	errAtProvider       = models.Reject(models.KindConflict, "provider_account", "This account is already connected to the provider.")
)

// UserOfProvider returns the console user with the given identity, and assigns the role specified by the provider. The
// first sign-in creates the user, but never takes over an existing password account with the same address. The owner of
// such an account can link it with LinkProvider.
func (s *UserRepository) UserOfProvider(ctx context.Context, id ProviderIdentity) (u *models.ConsoleUser, created bool, err error) {
	u, err = s.userByIdentity(ctx, id)
	if !errors.Is(err, models.ErrNotFound) {
		return u, false, err
	}
	if u, created, err = s.createFromProvider(ctx, id); err == nil && !created { // the user already exists
		if u, err = s.userByIdentity(ctx, id); errors.Is(err, models.ErrNotFound) {
			err = errAccountExists
		}
	}
	return u, created, err
}

// userByIdentity returns the user with an identity after updating the role, or models.ErrNotFound.
func (s *UserRepository) userByIdentity(ctx context.Context, id ProviderIdentity) (*models.ConsoleUser, error) {
	var u *models.ConsoleUser
	err := s.tx(ctx, func(tx *gorm.DB) (err error) {
		if u, err = one[models.ConsoleUser](s.locked(tx), "oidc_subject = ?", id.key()); err != nil {
			return err
		}
		switch {
		case u.DisabledAt != nil:
			return errAccountDisabled
		case u.AppID != id.App:
			return errAccountElsewhere
		}
		if err := decrypt(s.engine, u); err != nil || u.Role == id.Role {
			return err
		}
		u.Role = id.Role
		return tx.Model(&models.ConsoleUser{}).Where("id = ?", u.ID).Update("role", id.Role).Error
	})
	return u, wrap(err, "load provider user")
}

// createFromProvider creates a user. It returns false if a user with the address or identity already exists.
func (s *UserRepository) createFromProvider(ctx context.Context, id ProviderIdentity) (u *models.ConsoleUser, created bool, err error) {
	p := models.Problems{}
	if models.CheckEmail(p, "email", id.Email); !id.EmailVerified || len(p) > 0 {
		return nil, false, errEmailUnverified
	}
	if models.CheckText(p, "name", id.Name, 1, 255); len(p) > 0 {
		id.Name = id.Email
	}
	hash, err := s.hashPassword(rand.Text()) // a random password that nobody knows
	if err != nil {
		return nil, false, err
	}
	keys := s.userKeys(id.Email)
	u = &models.ConsoleUser{
		ID: s.newID(), AppID: id.App, Email: id.Email, EmailKey: keys[0], Name: id.Name, PasswordHash: hash, Role: id.Role, CreatedAt: s.now(), OIDCSubject: id.key(),
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		known, err := first[models.ConsoleUser](tx.Select("id").Where("email_key IN ?", keys))
		if err != nil || known != nil {
			return err
		}
		if err := s.rejectDisabled(tx, id); err != nil {
			return err
		}
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(encrypt(s.engine, u))
		created = res.RowsAffected > 0
		return res.Error
	})
	return u, created && err == nil, wrap(err, "create provider user")
}

// rejectDisabled rejects the address of a disabled account, so that a disabled user cannot return through the
// provider. It decrypts the address of each disabled user, because addresses cannot be compared in encrypted form.
func (s *UserRepository) rejectDisabled(tx *gorm.DB, id ProviderIdentity) error {
	var rows []models.ConsoleUser
	return tx.Where("app_id = ? AND disabled_at IS NOT NULL", id.App).FindInBatches(&rows, 100, func(*gorm.DB, int) error {
		for i := range rows {
			if err := decrypt(s.engine, &rows[i]); err != nil {
				return err
			}
			if models.EmailKey(rows[i].Email) == models.EmailKey(id.Email) {
				return errAccountDisabled
			}
		}
		return nil
	}).Error
}

// LinkProvider links a password account to an identity at the provider, and ends all of the user's sessions.
func (s *UserRepository) LinkProvider(ctx context.Context, user uuid.UUID, id ProviderIdentity) (*models.ConsoleUser, error) {
	var u *models.ConsoleUser
	err := s.tx(ctx, func(tx *gorm.DB) (err error) {
		if u, err = one[models.ConsoleUser](s.locked(tx), "id = ? AND disabled_at IS NULL", user); err != nil {
			return err
		}
		switch {
		case u.AppID != id.App:
			return errAccountElsewhere
		case u.AtProvider():
			return errAtProvider
		}
		// An administrator has replaced the disabled account by creating a new one.
		if err := tx.Model(&models.ConsoleUser{}).Where("oidc_subject = ? AND disabled_at IS NOT NULL", id.key()).Update("oidc_subject", nil).Error; err != nil {
			return err
		}
		others, err := count(tx.Model(&models.ConsoleUser{}).Where("oidc_subject = ?", id.key()))
		if err != nil {
			return err
		}
		if others > 0 {
			return errIdentityTaken
		}
		if err := decrypt(s.engine, u); err != nil {
			return err
		}
		u.OIDCSubject, u.Role = id.key(), id.Role
		err = tx.Model(&models.ConsoleUser{}).Where("id = ?", u.ID).Updates(map[string]any{"oidc_subject": u.OIDCSubject, "role": u.Role}).Error
		if errors.Is(err, gorm.ErrDuplicatedKey) {
			return errIdentityTaken
		}
		if err != nil {
			return err
		}
		return endSessions(tx, u.ID, uuid.Nil)
	})
	return u, wrap(err, "connect user %s to the provider", user)
}
