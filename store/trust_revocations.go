package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
	"countersign/seal/trust"
)

// SealCertificate is a current or former sealing certificate of this installation.
type SealCertificate struct {
	ID          string // SHA-256 hash of the certificate, in lowercase hexadecimal
	Certificate *x509.Certificate
	CreatedAt   time.Time
	Revoked     *models.KeyRevocation // nil if not revoked
}

// SealCertificateID returns the ID under which a sealing certificate is recorded.
func SealCertificateID(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }

// RecordSealCertificate records the certificate that is used for sealing from now on. Its seals can then be verified
// even after the certificate has been replaced.
func (s *KeyRepository) RecordSealCertificate(ctx context.Context, c *x509.Certificate) error {
	row := models.SealCertificate{ID: SealCertificateID(c), DER: c.Raw, CreatedAt: s.now()}
	return wrap(s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error, "record the sealing certificate")
}

// SealCertificates returns all recorded sealing certificates, oldest first.
func (s *KeyRepository) SealCertificates(ctx context.Context) ([]SealCertificate, error) {
	db := s.db.WithContext(ctx)
	rows, err := find[models.SealCertificate](db.Order("created_at, id"))
	if err != nil {
		return nil, fmt.Errorf("load the sealing certificates: %w", err)
	}
	revoked, err := revocations(db)
	if err != nil {
		return nil, err
	}
	out := make([]SealCertificate, 0, len(rows))
	for _, r := range rows {
		cert, err := x509.ParseCertificate(r.DER)
		if err != nil {
			return nil, fmt.Errorf("read the sealing certificate %s: %w", r.ID, err)
		}
		out = append(out, SealCertificate{ID: r.ID, Certificate: cert, CreatedAt: r.CreatedAt, Revoked: revoked[r.ID]})
	}
	return out, nil
}

// SealKeyRevoked reports whether the key of a sealing certificate was revoked in this installation, possibly under
// another certificate.
func (s *KeyRepository) SealKeyRevoked(ctx context.Context, c *x509.Certificate) (bool, error) {
	all, err := s.SealCertificates(ctx)
	for _, other := range all {
		if other.Revoked != nil && bytes.Equal(other.Certificate.RawSubjectPublicKeyInfo, c.RawSubjectPublicKeyInfo) {
			return true, err
		}
	}
	return false, err
}

// Trust returns this installation's trust policy. The policy consists of the installation's own pinned sealing
// certificates, and the keys that sign the installation's records.
func (s *KeyRepository) Trust(ctx context.Context) (trust.Policy, error) {
	p := trust.Policy{RecordKeys: make(map[string]trust.RecordKey)}
	certificates, err := s.SealCertificates(ctx)
	if err != nil {
		return p, err
	}
	for _, c := range certificates {
		pin := trust.PinnedCertificate(c.Certificate)
		pin.Revoked = revocation(c.Revoked)
		p.Sealers = append(p.Sealers, pin)
	}
	keys, err := s.Keys(ctx, models.KeyManifests)
	if err != nil {
		return p, err
	}
	for _, k := range keys {
		p.RecordKeys[k.ID] = trust.RecordKey{Key: &k.Private.PublicKey, Revoked: revocation(k.Revoked)}
	}
	return p, nil
}

func revocation(r *models.KeyRevocation) *trust.Revocation {
	if r == nil {
		return nil
	}
	return &trust.Revocation{At: r.At.UTC(), Reason: r.Reason}
}

// revocations returns the effective revocation of each key, which is the one with the earliest date.
func revocations(db *gorm.DB) (map[string]*models.KeyRevocation, error) {
	rows, err := find[*models.KeyRevocation](db.Order("at DESC, seq DESC"))
	out := make(map[string]*models.KeyRevocation, len(rows))
	for _, r := range rows {
		out[r.KeyID] = r
	}
	return out, wrap(err, "load revocations")
}

// RevokeKey records that, from the given time on, a record-signing key or a sealing certificate must not be trusted.
// If the key is currently used to sign records, a new key replaces it in the same transaction. A revocation cannot be
// undone, and a further revocation must have an earlier time.
func (s *KeyRepository) RevokeKey(ctx context.Context, id string, at time.Time, reason string) error {
	at, now := at.UTC().Truncate(time.Microsecond), s.now()
	p := models.Problems{}
	models.CheckText(p, "reason", reason, 1, 200)
	if at.After(now) {
		p.Add("at", "must not be in the future")
	}
	if err := p.Err(); err != nil {
		return err
	}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.retireForRevocation(tx, id); err != nil {
			return err
		}
		known, err := revocations(tx)
		if err != nil {
			return err
		}
		if r := known[id]; r != nil && !at.Before(r.At) {
			return models.Reject(models.KindConflict, "key_revoked", "The key is already revoked as of %s.", r.At.UTC().Format(time.RFC3339))
		}
		return tx.Create(&models.KeyRevocation{KeyID: id, At: at, Reason: reason, RecordedAt: now}).Error
	})
	return wrap(err, "revoke key %s", id)
}

// retireForRevocation finds the key or certificate. It replaces a key that is currently used to sign records.
func (s *KeyRepository) retireForRevocation(tx *gorm.DB, id string) error {
	k, err := first[models.SigningKey](tx.Where("id = ?", id))
	if err != nil {
		return err
	}
	if k == nil {
		n, err := count(tx.Model(&models.SealCertificate{}).Where("id = ?", id))
		if err == nil && n == 0 {
			err = models.Reject(models.KindNotFound, "not_found", "Key not found; `countersign key list` lists all keys.")
		}
		return err
	}
	switch {
	case k.Purpose != models.KeyManifests:
		return models.Reject(models.KindConflict, "key_not_revocable", "The key signs %s; replace it with `countersign key rotate %s`.", k.Purpose, k.Purpose)
	case k.RetiredAt != nil:
		return nil
	}
	_, err = s.replaceKey(tx, models.KeyManifests)
	return err
}
