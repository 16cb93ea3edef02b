package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

const maxPasskeys = 10 // per user

var (
	errPasskeyKnown    = models.Reject(models.KindConflict, "passkey_exists", "This passkey is already registered.")
	errTooManyPasskeys = models.Reject(models.KindConflict, "too_many_passkeys", "The account has %d passkeys, which is the maximum. Remove one first.", maxPasskeys)
)

// Passkeys lists the passkeys of a console user, oldest first.
func (s *UserRepository) Passkeys(ctx context.Context, user uuid.UUID) ([]models.ConsolePasskey, error) {
	rows, err := find[models.ConsolePasskey](s.db.WithContext(ctx).Where("user_id = ?", user).Order("id"))
	return rows, wrap(err, "list passkeys")
}

// AddPasskey adds a passkey, and ends all sessions except keepSession. If the user has no recovery codes yet,
// AddPasskey returns new ones, which cannot be retrieved later.
func (s *UserRepository) AddPasskey(ctx context.Context, p *models.ConsolePasskey, keepSession uuid.UUID) (recovery []string, err error) {
	p.ID, p.CreatedAt = s.newID(), s.now()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		// The lock ensures that the second of two concurrent transactions sees the passkey added by the first.
		if _, err := one[models.ConsoleUser](s.locked(tx).Select("id"), "id = ? AND disabled_at IS NULL", p.UserID); err != nil {
			return err
		}
		passkeys, err1 := count(tx.Model(&models.ConsolePasskey{}).Where("user_id = ?", p.UserID))
		codes, err2 := count(tx.Model(&models.ConsoleRecoveryCode{}).Where("user_id = ?", p.UserID))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if passkeys >= maxPasskeys {
			return errTooManyPasskeys
		}
		if err := requireRows(tx.Clauses(clause.OnConflict{DoNothing: true}).Create(p), errPasskeyKnown); err != nil {
			return err
		}
		if codes == 0 {
			if recovery, err = replaceRecoveryCodes(tx, p.UserID); err != nil {
				return err
			}
		}
		return endSessions(tx, p.UserID, keepSession)
	})
	return recovery, wrap(err, "add passkey")
}

// UsePasskey records the use of a passkey and its new state. It returns ErrCode if the passkey was removed or was used
// by another request in the meantime.
func (s *UserRepository) UsePasskey(ctx context.Context, p *models.ConsolePasskey, state []byte) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		now, err := one[models.ConsolePasskey](s.locked(tx), "id = ? AND user_id = ?", p.ID, p.UserID)
		if errors.Is(err, models.ErrNotFound) || err == nil && !bytes.Equal(now.Credential, p.Credential) {
			return ErrCode
		}
		if err != nil {
			return err
		}
		return tx.Model(&models.ConsolePasskey{}).Where("id = ?", p.ID).Updates(map[string]any{"credential": state, "used_at": s.now()}).Error
	})
	return wrap(err, "use passkey")
}

// RemovePasskey removes a passkey of a console user, and also the recovery codes if it was the last second factor. It
// ends all sessions except keepSession.
func (s *UserRepository) RemovePasskey(ctx context.Context, user, id, keepSession uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := requireRows(tx.Where("id = ? AND user_id = ?", id, user).Delete(&models.ConsolePasskey{}), models.ErrNotFound); err != nil {
			return err
		}
		return errors.Join(removeUnneededCodes(tx, user), endSessions(tx, user, keepSession))
	})
	return wrap(err, "remove passkey")
}

// removeUnneededCodes deletes a user's recovery codes if the user has no second factor left.
func removeUnneededCodes(tx *gorm.DB, user uuid.UUID) error {
	// SQL: a single statement checks and deletes, so that no factor can be added in between.
	return tx.Exec(`DELETE FROM console_recovery_codes WHERE user_id = ? AND NOT EXISTS (SELECT 1 FROM console_passkeys WHERE user_id = ?)
		AND NOT EXISTS (SELECT 1 FROM console_factors WHERE id = ? AND confirmed_at IS NOT NULL)`, user, user, user).Error
}

// ResetFactors removes all second factors and recovery codes of a console user. It ends all sessions except
// keepSession.
func (s *UserRepository) ResetFactors(ctx context.Context, user, keepSession uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		err1 := tx.Where("user_id = ?", user).Delete(&models.ConsoleRecoveryCode{}).Error
		err2 := tx.Where("user_id = ?", user).Delete(&models.ConsolePasskey{}).Error
		err3 := tx.Where("id = ?", user).Delete(&models.ConsoleFactor{}).Error
		return errors.Join(err1, err2, err3, endSessions(tx, user, keepSession))
	})
	return wrap(err, "remove second factors")
}
