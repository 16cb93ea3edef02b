package store

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm/clause"

	"countersign/models"
)

// TrustSeals records the certificate that this installation's seals lead to, so
// that they are trusted wherever they are verified, also after it was replaced.
func (s *Store) TrustSeals(ctx context.Context, root *x509.Certificate) error {
	sum := sha256.Sum256(root.Raw)
	row := models.SealRoot{ID: hex.EncodeToString(sum[:]), DER: root.Raw, CreatedAt: s.now()}
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("record the seal's certificate: %w", err)
	}
	return nil
}

// SealRoots are the certificates that were recorded.
func (s *Store) SealRoots(ctx context.Context) ([]*x509.Certificate, error) {
	var rows []models.SealRoot
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("load the seal's certificates: %w", err)
	}
	out := make([]*x509.Certificate, 0, len(rows))
	for _, r := range rows {
		cert, err := x509.ParseCertificate(r.DER)
		if err != nil {
			return nil, fmt.Errorf("read the seal's certificate %s: %w", r.ID, err)
		}
		out = append(out, cert)
	}
	return out, nil
}
