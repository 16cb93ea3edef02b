package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Envelope loads an app's envelope with its signers, fields and documents.
func (s *Store) Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error) {
	db := s.db.WithContext(ctx)
	e, err := load(db, db, app, id)
	if err != nil {
		return nil, fmt.Errorf("load envelope %s: %w", id, err)
	}
	return e, nil
}

// load reads the envelope's row with root and the rest with db.
func load(root, db *gorm.DB, app, id uuid.UUID) (*models.Envelope, error) {
	e := &models.Envelope{}
	if err := root.Where("id = ? AND app_id = ?", id, app).Take(e).Error; err != nil {
		return nil, found(err)
	}
	return e, attach(db, map[uuid.UUID]*models.Envelope{e.ID: e})
}

// attach loads the signers, fields and documents of several envelopes.
func attach(db *gorm.DB, byID map[uuid.UUID]*models.Envelope) error {
	ids := make([]uuid.UUID, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	var signers []*models.Signer
	if err := db.Where("envelope_id IN ?", ids).Order("position").Find(&signers).Error; err != nil {
		return fmt.Errorf("load signers: %w", err)
	}
	for _, v := range signers {
		byID[v.EnvelopeID].Signers = append(byID[v.EnvelopeID].Signers, v)
	}
	var fields []*models.Field
	if err := db.Where("envelope_id IN ?", ids).Order("position").Find(&fields).Error; err != nil {
		return fmt.Errorf("load fields: %w", err)
	}
	for _, v := range fields {
		byID[v.EnvelopeID].Fields = append(byID[v.EnvelopeID].Fields, v)
	}
	var docs []*models.Document
	if err := db.Where("envelope_id IN ?", ids).Order("kind, document_order").Find(&docs).Error; err != nil {
		return fmt.Errorf("load documents: %w", err)
	}
	for _, v := range docs {
		byID[v.EnvelopeID].Documents = append(byID[v.EnvelopeID].Documents, v)
	}
	return nil
}

// Filter selects envelopes for a list.
type Filter struct {
	App    uuid.UUID
	Tenant string
	Status models.Status // "": all
	Page   int           // from 1
	Size   int
}

// Envelopes lists envelopes, newest first, with the number of all that match.
func (s *Store) Envelopes(ctx context.Context, f Filter) ([]*models.Envelope, int64, error) {
	db := s.db.WithContext(ctx)
	q := db.Model(&models.Envelope{}).Where("app_id = ? AND tenant_id = ?", f.App, f.Tenant)
	switch f.Status {
	case "":
	case models.StatusInProgress:
		q = q.Where("status IN ?", []models.Status{models.StatusInProgress, models.StatusSealing})
	default:
		q = q.Where("status = ?", f.Status)
	}
	var total int64
	if err := q.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count envelopes: %w", err)
	}
	var list []*models.Envelope
	if err := q.Order("id DESC").Offset((f.Page - 1) * f.Size).Limit(f.Size).Find(&list).Error; err != nil {
		return nil, 0, fmt.Errorf("list envelopes: %w", err)
	}
	byID := make(map[uuid.UUID]*models.Envelope, len(list))
	for _, e := range list {
		byID[e.ID] = e
	}
	if len(byID) == 0 {
		return list, total, nil
	}
	return list, total, attach(db, byID)
}

// AuditEvents is the whole audit chain of an envelope, in order.
func (s *Store) AuditEvents(ctx context.Context, envelope uuid.UUID) ([]models.Event, error) {
	var out []models.Event
	if err := s.db.WithContext(ctx).Where("envelope_id = ?", envelope).Order("seq").Find(&out).Error; err != nil {
		return nil, fmt.Errorf("load audit chain of %s: %w", envelope, err)
	}
	return out, nil
}

// Values are the values that were signed for.
func (s *Store) Values(ctx context.Context, envelope uuid.UUID) ([]models.FieldValue, error) {
	var out []models.FieldValue
	if err := s.db.WithContext(ctx).Where("envelope_id = ?", envelope).Find(&out).Error; err != nil {
		return nil, fmt.Errorf("load values of %s: %w", envelope, err)
	}
	return out, nil
}

// SavedSignature is what a person last adopted in an app; nil if nothing.
func (s *Store) SavedSignature(ctx context.Context, app uuid.UUID, email string) (*models.SavedSignature, error) {
	var out []models.SavedSignature
	err := s.db.WithContext(ctx).Where("app_id = ? AND email = ?", app, email).Limit(1).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("load saved signature: %w", err)
	}
	if len(out) == 0 {
		return nil, nil //nolint:nilnil // nothing saved is an ordinary answer
	}
	return &out[0], nil
}
