package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"countersign/models"
)

// ValuesWithoutPictures are the values of an envelope without their pictures, which are
// named by their hash alone.
func (s *Store) ValuesWithoutPictures(ctx context.Context, envelope uuid.UUID) ([]models.FieldValue, error) {
	var out []models.FieldValue
	err := s.db.WithContext(ctx).Select("field_id", "envelope_id", "signer_id", "text", "image_sha256", "created_at").
		Where("envelope_id = ?", envelope).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("load values of %s: %w", envelope, err)
	}
	return out, decryptAll(s, pointers(out))
}

// valuesInside are, in a transaction, the values of an envelope as it leaves them, without
// their pictures.
func (s *Store) valuesInside(t *transaction, envelope uuid.UUID) ([]models.FieldValue, error) {
	var rows []*models.FieldValue
	selectRows(&t.batch, &rows, func(v *models.FieldValue) []column {
		return slices.DeleteFunc(valueColumns(v), func(c column) bool { return c.name == "image" })
	}, "field_values", "envelope_id = $1", envelope)
	if err := t.send(); err != nil {
		return nil, err
	}
	if err := decryptAll(s, rows); err != nil {
		return nil, err
	}
	out := make([]models.FieldValue, 0, len(rows))
	for _, v := range rows {
		out = append(out, *v)
	}
	return out, nil
}

// Value is what one field was given, its picture included.
func (s *Store) Value(ctx context.Context, envelope, field uuid.UUID) (*models.FieldValue, error) {
	v := &models.FieldValue{}
	if err := s.db.WithContext(ctx).Take(v, "envelope_id = ? AND field_id = ?", envelope, field).Error; err != nil {
		return nil, fmt.Errorf("load value of field %s: %w", field, mapNotFound(err))
	}
	return v, decrypt(s, v)
}

// Values are the values that were signed for.
func (s *Store) Values(ctx context.Context, envelope uuid.UUID) ([]models.FieldValue, error) {
	var out []models.FieldValue
	if err := s.db.WithContext(ctx).Where("envelope_id = ?", envelope).Find(&out).Error; err != nil {
		return nil, fmt.Errorf("load values of %s: %w", envelope, err)
	}
	if err := decryptAll(s, pointers(out)); err != nil {
		return nil, err
	}
	return out, nil
}

// SavedSignature is what the person that a signer is last adopted in the tenant,
// having proved it in the same way; nil if nothing.
func (s *Store) SavedSignature(ctx context.Context, e *models.Envelope, signer *models.Signer) (*models.SavedSignature, error) {
	of := &models.SavedSignature{AppID: e.AppID, TenantID: e.TenantID, AuthMethod: signer.AuthMethod, Email: signer.Email}
	var out []models.SavedSignature
	err := s.db.WithContext(ctx).Where("app_id = ? AND tenant_id = ? AND auth_method = ? AND email_key IN ?", of.AppID, of.TenantID, of.AuthMethod, s.savedKeys(of)).
		Order("updated_at DESC").Limit(1).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("load saved signature: %w", err)
	}
	if len(out) == 0 {
		return nil, nil //nolint:nilnil // nothing saved is an ordinary answer
	}
	return &out[0], decrypt(s, &out[0])
}
