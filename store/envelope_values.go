package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ValuesWithoutPictures returns the values of an envelope. Pictures are represented by their hashes.
func (s *EnvelopeRepository) ValuesWithoutPictures(ctx context.Context, e *models.Envelope) ([]models.FieldValue, error) {
	out, err := s.loadValues(ctx, e, func(db *gorm.DB) *gorm.DB {
		return db.Select("field_id", "envelope_id", "signer_id", "text", "image_sha256", "created_at")
	})
	return withoutPictures(out), err
}

func withoutPictures(values []models.FieldValue) []models.FieldValue {
	for i := range values {
		values[i].Image = nil
	}
	return values
}

// valueRows selects values without pictures.
var valueRows = selectionOf("field_values", func(v *models.FieldValue) []column { return without(valueColumns(v), []string{"image"}) })

// queueValues adds a query for the values of an envelope, without pictures.
func queueValues(b *batch, out *[]*models.FieldValue, envelope uuid.UUID) {
	selectRows(b, out, valueRows, "envelope_id = $1", envelope)
}

// loadValues returns the values of an envelope. It reads the rows selected by narrow or, if the envelope is archived,
// all values from the archive.
func (s *EnvelopeRepository) loadValues(ctx context.Context, e *models.Envelope, narrow func(*gorm.DB) *gorm.DB) ([]models.FieldValue, error) {
	out, err := rowsOrArchive(ctx, s.archives, e, func(db *gorm.DB) (rows []models.FieldValue, err error) {
		if err := narrow(db.Where("envelope_id = ?", e.ID)).Find(&rows).Error; err != nil {
			return nil, err
		}
		return rows, decryptAll(s.engine, pointers(rows))
	}, (*archiveContent).values)
	return out, wrap(err, "load values of %s", e.ID)
}

// valuesInside returns the values of an envelope within a transaction, without pictures.
func (s *EnvelopeRepository) valuesInside(t *transaction, envelope uuid.UUID) ([]models.FieldValue, error) {
	var rows []*models.FieldValue
	queueValues(&t.batch, &rows, envelope)
	if err := t.send(); err != nil {
		return nil, err
	}
	if err := decryptAll(s.engine, rows); err != nil {
		return nil, err
	}
	return mapSlice(rows, func(v *models.FieldValue) models.FieldValue { return *v }), nil
}

// Value returns the value of a field, including its picture.
func (s *EnvelopeRepository) Value(ctx context.Context, e *models.Envelope, field uuid.UUID) (*models.FieldValue, error) {
	found, err := s.loadValues(ctx, e, func(db *gorm.DB) *gorm.DB { return db.Where("field_id = ?", field) })
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(v models.FieldValue) bool { return v.FieldID == field })
	if i < 0 {
		return nil, fmt.Errorf("load value of field %s: %w", field, models.ErrNotFound)
	}
	return &found[i], nil
}

// Values returns the signed values. A picture that is used by several fields is loaded only once.
func (s *EnvelopeRepository) Values(ctx context.Context, e *models.Envelope) ([]models.FieldValue, error) {
	if e.Archived {
		return s.loadValues(ctx, e, func(db *gorm.DB) *gorm.DB { return db })
	}
	values, err := s.ValuesWithoutPictures(ctx, e)
	if err != nil {
		return nil, err
	}
	shownBy := make(map[string]uuid.UUID) // the first field with each picture, by hash
	var fields []uuid.UUID
	for _, v := range values {
		if _, ok := shownBy[v.ImageSHA256]; !ok && v.ImageSHA256 != "" {
			shownBy[v.ImageSHA256] = v.FieldID
			fields = append(fields, v.FieldID)
		}
	}
	if len(fields) == 0 {
		return values, nil
	}
	loaded, err := s.loadValues(ctx, e, func(db *gorm.DB) *gorm.DB { return db.Where("field_id IN ?", fields) })
	if err != nil {
		return nil, err
	}
	pictures := make(map[string][]byte, len(loaded))
	for _, v := range loaded {
		pictures[v.ImageSHA256] = v.Image
	}
	for i := range values {
		values[i].Image = pictures[values[i].ImageSHA256]
	}
	return values, nil
}

// SavedSignature returns the signature that a person last adopted in the tenant, or nil if there is none. The person's
// authentication method must be the same as the signer's.
func (s *EnvelopeRepository) SavedSignature(ctx context.Context, e *models.Envelope, signer *models.Signer) (*models.SavedSignature, error) {
	of := &models.SavedSignature{AppID: e.AppID, TenantID: e.TenantID, AuthMethod: signer.AuthMethod, Email: signer.Email}
	out, err := first[models.SavedSignature](s.db.WithContext(ctx).Where("app_id = ? AND tenant_id = ? AND auth_method = ? AND email_key IN ?", of.AppID, of.TenantID, of.AuthMethod, s.savedKeys(of)).
		Order("updated_at DESC"))
	if err == nil && out != nil {
		err = decrypt(s.engine, out)
	}
	return out, wrap(err, "load saved signature")
}

// savedKeys returns the keys of a saved signature, which depend on the tenant, the address, and the authentication
// method.
func (s *EnvelopeRepository) savedKeys(v *models.SavedSignature) []string {
	return s.addressKeys("signatures "+v.AppID.String()+" "+string(v.AuthMethod)+" "+v.TenantID, v.Email)
}
