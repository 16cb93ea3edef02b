package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/internal/totp"
	"countersign/models"
)

const (
	labelConsoleFactor = "console-factor"
	issuer             = "Countersign"

	recoveryCodes  = 10
	recoveryLength = 24 // base32 characters, which is 120 bits
	recoveryGroup  = 4
)

// Errors for second factors.
var (
	errFactorActive = models.Reject(models.KindConflict, "second_factor_active", "The account already has a second factor. Remove it first.")
	errFactorNone   = models.Reject(models.KindConflict, "second_factor_none", "The account has no second factor to confirm or use.")
	// ErrCode is returned for a code that is wrong or was already used.
	ErrCode = models.Reject(models.KindUnauthorized, "invalid_code", "The code is wrong or was already used.")
)

// FactorState describes the second factors of a console user.
type FactorState struct {
	Active        bool // whether the user has any second factor
	TOTP          bool // whether the user has an authenticator app
	Passkeys      int
	RecoveryCodes int // number of remaining recovery codes
}

// FactorState returns the state of a console user's second factors.
func (s *UserRepository) FactorState(ctx context.Context, user uuid.UUID) (FactorState, error) {
	var f FactorState
	// SQL: the three values come from a single snapshot.
	err := s.db.WithContext(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM console_factors WHERE id = ? AND confirmed_at IS NOT NULL) AS totp,
		(SELECT COUNT(*) FROM console_passkeys WHERE user_id = ?) AS passkeys,
		(SELECT COUNT(*) FROM console_recovery_codes WHERE user_id = ?) AS recovery_codes`, user, user, user).Scan(&f).Error
	f.Active = f.TOTP || f.Passkeys > 0
	return f, wrap(err, "load second factor")
}

// EnrollFactor creates the secret of a console user's second factor, which is inactive until ConfirmFactor is called.
// Each call replaces the secret.
func (s *UserRepository) EnrollFactor(ctx context.Context, u *models.ConsoleUser) (totp.Secret, error) {
	secret, err := totp.New(issuer, u.Email)
	if err != nil {
		return secret, err
	}
	f := models.ConsoleFactor{UserID: u.ID, Secret: s.vault.Encrypt([]byte(secret.Text), labelConsoleFactor), CreatedAt: s.now()}
	result := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"secret", "created_at", "last_step"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "console_factors.confirmed_at IS NULL"}}},
	}).Create(&f)
	if err := requireRows(result, errFactorActive); err != nil {
		return totp.Secret{}, fmt.Errorf("enroll second factor: %w", err)
	}
	return secret, nil
}

// ConfirmFactor activates the second factor with its first correct code, and ends all other sessions. It returns
// recovery codes, which cannot be retrieved later.
func (s *UserRepository) ConfirmFactor(ctx context.Context, user uuid.UUID, code string, keepSession uuid.UUID) (recovery []string, err error) {
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.consumeTimeStep(tx, user, code, false); err != nil {
			return err
		}
		if recovery, err = replaceRecoveryCodes(tx, user); err != nil {
			return err
		}
		return endSessions(tx, user, keepSession)
	})
	return recovery, wrap(err, "confirm second factor")
}

// ConsumeCode consumes a code from the user's authenticator app, or a recovery code. For any other code, it returns
// ErrCode.
func (s *UserRepository) ConsumeCode(ctx context.Context, user uuid.UUID, code string) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
		if len(code) != recoveryLength {
			err := s.consumeTimeStep(tx, user, code, true)
			if errors.Is(err, errFactorNone) { // the user has only passkeys
				err = ErrCode
			}
			return err
		}
		return requireRows(tx.Where("user_id = ? AND hash = ?", user, hashOf(code)).Delete(&models.ConsoleRecoveryCode{}), ErrCode)
	})
	return wrap(err, "use recovery code")
}

// consumeTimeStep marks the time step of a code as used, and confirms the factor unless it is already confirmed. If two
// requests use the same code, only one succeeds.
func (s *UserRepository) consumeTimeStep(tx *gorm.DB, user uuid.UUID, code string, confirmed bool) error {
	f, err := one[models.ConsoleFactor](tx, "id = ? AND (confirmed_at IS NOT NULL) = ?", user, confirmed)
	if errors.Is(err, models.ErrNotFound) {
		return errFactorNone
	}
	if err != nil {
		return err
	}
	secret, err := s.vault.Decrypt(f.Secret, labelConsoleFactor)
	if err != nil {
		return err
	}
	now := s.now()
	step, ok := totp.Match(string(secret), code, now)
	if !ok {
		return ErrCode
	}
	change := map[string]any{"last_step": step}
	if !confirmed {
		change["confirmed_at"] = now
	}
	return requireRows(tx.Model(f).Where("last_step < ? AND secret = ?", step, f.Secret).Updates(change), ErrCode)
}

// RenewRecoveryCodes replaces the remaining recovery codes with new ones.
func (s *UserRepository) RenewRecoveryCodes(ctx context.Context, user uuid.UUID) (codes []string, err error) {
	err = s.tx(ctx, func(tx *gorm.DB) error {
		codes, err = replaceRecoveryCodes(tx, user)
		return err
	})
	return codes, wrap(err, "replace recovery codes")
}

func replaceRecoveryCodes(tx *gorm.DB, user uuid.UUID) ([]string, error) {
	codes := make([]string, recoveryCodes)
	rows := make([]models.ConsoleRecoveryCode, recoveryCodes)
	for i := range codes {
		code := rand.Text()[:recoveryLength]
		rows[i] = models.ConsoleRecoveryCode{UserID: user, Hash: hashOf(code)}
		for j := 0; j < recoveryLength; j += recoveryGroup {
			codes[i] += "-" + code[j:j+recoveryGroup]
		}
		codes[i] = codes[i][1:]
	}
	if err := tx.Where("user_id = ?", user).Delete(&models.ConsoleRecoveryCode{}).Error; err != nil {
		return nil, err
	}
	return codes, tx.Create(&rows).Error
}

// RemoveFactor removes a console user's authenticator app, and also the recovery codes if it was the last second
// factor. It ends all sessions except keepSession.
func (s *UserRepository) RemoveFactor(ctx context.Context, user, keepSession uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		err := tx.Where("id = ?", user).Delete(&models.ConsoleFactor{}).Error
		return errors.Join(err, removeUnneededCodes(tx, user), endSessions(tx, user, keepSession))
	})
	return wrap(err, "remove second factor")
}
