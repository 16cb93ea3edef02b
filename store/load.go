package store

import (
	"context"
	"fmt"
	"strings"

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

// TenantOf is the tenant that an app's envelope belongs to.
func (s *Store) TenantOf(ctx context.Context, app, id uuid.UUID) (string, error) {
	e := &models.Envelope{}
	if err := s.db.WithContext(ctx).Select("tenant_id").Take(e, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return "", fmt.Errorf("load envelope %s: %w", id, found(err))
	}
	return e.TenantID, nil
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
	Tenant string        // "": all
	Status models.Status // "": all
	Search string        // an id, or part of the subject or of a signer's name or address; "": all
	Page   int           // from 1
	Size   int
}

// statuses are the stored states that a shown one stands for.
func (f Filter) statuses() []models.Status {
	switch f.Status { //nolint:exhaustive // the others are as they are stored
	case "":
		return nil
	case models.StatusInProgress:
		return []models.Status{models.StatusInProgress, models.StatusSealing}
	default:
		return []models.Status{f.Status}
	}
}

// part are the ids of the envelopes of one status ("": any) that match.
func (f Filter) part(db *gorm.DB, status models.Status) *gorm.DB {
	q := db.Model(&models.Envelope{}).Select("id").Where("app_id = ?", f.App)
	if f.Tenant != "" {
		q = q.Where("tenant_id = ?", f.Tenant)
	}
	if status != "" {
		q = q.Where("status = ?", status)
	}
	if id, err := uuid.Parse(strings.TrimSpace(f.Search)); err == nil {
		q = q.Where("id = ?", id)
	} else if f.Search != "" {
		like := contains(f.Search)
		q = q.Where(`(LOWER(subject) LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id
			AND (LOWER(s.name) LIKE ? ESCAPE '\' OR LOWER(s.email) LIKE ? ESCAPE '\')))`, like, like, like)
	}
	return q
}

// Envelopes lists envelopes, newest first, with the number of all that match; a
// search is counted up to countLimit.
func (s *Store) Envelopes(ctx context.Context, f Filter) ([]*models.Envelope, int64, error) {
	db := s.db.WithContext(ctx)
	var total int64
	var err error
	if f.Search == "" {
		total, err = s.count(ctx, f.App, f.Tenant, f.statuses())
	} else {
		q := f.part(db, "")
		if of := f.statuses(); of != nil {
			q = q.Where("status IN ?", of)
		}
		total, err = countUpTo(db, q)
	}
	if err != nil {
		return nil, 0, err
	}
	offset := (f.Page - 1) * f.Size
	if int64(offset) >= total {
		return nil, total, nil
	}
	var list []*models.Envelope
	if err := db.Where("id IN (?)", f.ids(db, offset)).Order("id DESC").Find(&list).Error; err != nil {
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

// ids selects the ids of the page, each part of it in the order of an index:
// one status needs no sorting, and two are merged.
func (f Filter) ids(db *gorm.DB, offset int) *gorm.DB {
	of := f.statuses()
	if len(of) < 2 {
		var status models.Status
		if len(of) == 1 {
			status = of[0]
		}
		return db.Table("(?) AS page", f.part(db, status).Order("id DESC").Offset(offset).Limit(f.Size)).Select("id")
	}
	top := offset + f.Size
	a, b := f.part(db, of[0]).Order("id DESC").Limit(top), f.part(db, of[1]).Order("id DESC").Limit(top)
	return db.Table("(SELECT id FROM (?) AS a UNION ALL SELECT id FROM (?) AS b ORDER BY id DESC LIMIT ? OFFSET ?) AS page",
		a, b, f.Size, offset).Select("id")
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
