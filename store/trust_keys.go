package store

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

const labelSigningKey = "signing-key"

// KeyRepository stores the signing keys, the sealing certificates, and their revocations.
type KeyRepository struct{ *engine }

func (s *KeyRepository) register() {
	encryptSecrets(s.engine, "signing_keys", "private", labelSigningKey)
}

// Key is a P-256 key of the service.
type Key struct {
	ID      string
	Private *ecdsa.PrivateKey
	Retired bool // whether the key is used only for verification
	// Revoked is the revocation, which specifies the time from which the key is not trusted. It is nil for a key that
	// is not revoked.
	Revoked *models.KeyRevocation
}

// Keys returns the service's keys for a purpose, newest first. The first key is used for signing. If no key exists,
// Keys creates one.
func (s *KeyRepository) Keys(ctx context.Context, purpose models.KeyPurpose) ([]Key, error) {
	rows, err := s.keyRows(s.db.WithContext(ctx), purpose)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		if rows, err = s.firstKey(ctx, purpose); err != nil {
			return nil, err
		}
	}
	revoked, err := revocations(s.db.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	keys := make([]Key, 0, len(rows))
	for _, r := range rows {
		der, err := s.vault.Decrypt(r.Private, labelSigningKey)
		if err != nil {
			return nil, fmt.Errorf("decrypt key %s: %w", r.ID, err)
		}
		k, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, fmt.Errorf("read key %s: %w", r.ID, err)
		}
		ec, ok := k.(*ecdsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("read key %s: not an EC key", r.ID)
		}
		keys = append(keys, Key{ID: r.ID, Private: ec, Retired: r.RetiredAt != nil, Revoked: revoked[r.ID]})
	}
	return keys, nil
}

func (s *KeyRepository) keyRows(db *gorm.DB, purpose models.KeyPurpose) ([]models.SigningKey, error) {
	rows, err := find[models.SigningKey](db.Where("purpose = ?", purpose).Order("retired_at IS NOT NULL, created_at DESC, id"))
	return rows, wrap(err, "load %s keys", purpose)
}

// firstKey creates the first key for a purpose. Only one key for each purpose can be active. If several processes
// start at the same time, only one of them creates the key.
func (s *KeyRepository) firstKey(ctx context.Context, purpose models.KeyPurpose) ([]models.SigningKey, error) {
	row, err := s.newKey(purpose)
	if err != nil {
		return nil, err
	}
	db := s.db.WithContext(ctx)
	if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(row).Error; err != nil {
		return nil, fmt.Errorf("store %s key: %w", purpose, err)
	}
	return s.keyRows(db, purpose)
}

// newKey creates a key with a globally unique ID, so that a verifier cannot confuse the keys of two installations.
func (s *KeyRepository) newKey(purpose models.KeyPurpose) (*models.SigningKey, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create %s key: %w", purpose, err)
	}
	private, err1 := x509.MarshalPKCS8PrivateKey(k)
	public, err2 := x509.MarshalPKIXPublicKey(k.Public())
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("create %s key: %w", purpose, err)
	}
	return &models.SigningKey{
		ID: string(purpose) + "-" + s.newID().String(), Purpose: purpose, Private: s.vault.Encrypt(private, labelSigningKey), Public: public, CreatedAt: s.now(),
	}, nil
}

// RotateKey replaces the current signing key with a new key. Signatures by earlier keys can still be verified. Running
// processes start to use the new key (see credential.Tokens.ReloadFrom).
func (s *KeyRepository) RotateKey(ctx context.Context, purpose models.KeyPurpose) (string, error) {
	if _, err := s.Keys(ctx, purpose); err != nil { // ensures that there is a key to replace
		return "", err
	}
	var id string
	err := s.tx(ctx, func(tx *gorm.DB) (err error) {
		id, err = s.replaceKey(tx, purpose)
		return err
	})
	return id, wrap(err, "rotate %s key", purpose)
}

// replaceKey retires the active key and creates a new one.
func (s *KeyRepository) replaceKey(tx *gorm.DB, purpose models.KeyPurpose) (string, error) {
	row, err := s.newKey(purpose)
	if err != nil {
		return "", err
	}
	err = tx.Model(&models.SigningKey{}).Where("purpose = ? AND retired_at IS NULL", purpose).Update("retired_at", s.now()).Error
	if err != nil {
		return "", err
	}
	return row.ID, tx.Create(row).Error
}
