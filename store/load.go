package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Envelope loads an app's envelope with its signers, fields and documents.
func (s *Store) Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error) {
	w, err := s.whole(ctx, app, id, wants{})
	if err != nil {
		return nil, err
	}
	return w.envelope, nil
}

// Whole loads an app's envelope with its audit chain, as they are at one moment.
func (s *Store) Whole(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, error) {
	w, err := s.whole(ctx, app, id, wants{log: true})
	if err != nil {
		return nil, nil, err
	}
	return w.envelope, w.log, nil
}

// wants is what is to be loaded beside an envelope.
type wants struct {
	lock  bool // hold the envelope until the transaction ends
	log   bool // its audit chain
	hooks bool // the active webhooks of its app
}

// whole is an envelope with what was wanted beside it.
type whole struct {
	envelope *models.Envelope
	log      []models.Event
	hooks    []*models.Webhook
}

func (s *Store) whole(ctx context.Context, app, id uuid.UUID, want wants) (*whole, error) {
	var w *whole
	err := s.read(ctx, func(tx *gorm.DB) (err error) {
		w, err = s.load(tx, app, id, want)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load envelope %s: %w", id, err)
	}
	return w, nil
}

func (s *Store) load(tx *gorm.DB, app, id uuid.UUID, want wants) (*whole, error) {
	if p, ok := tx.Statement.ConnPool.(*pipe); ok {
		return s.loadPiped(tx.Statement.Context, p, app, id, want)
	}
	return s.loadPlain(tx, app, id, want)
}

// loadPiped asks for everything in one round trip. Whoever locks the envelope
// asks for the rest after that, so nothing of it can be older.
func (s *Store) loadPiped(ctx context.Context, p *pipe, app, id uuid.UUID, want wants) (*whole, error) {
	lock := ""
	if want.lock {
		lock = " FOR UPDATE"
	}
	var roots []*models.Envelope
	var e models.Envelope
	var log []*models.Event
	w := &whole{}
	root, err1 := rowsOf(ctx, s, &roots, "id = $1 AND app_id = $2"+lock, id, app)
	signers, err2 := rowsOf(ctx, s, &e.Signers, "envelope_id = $1 ORDER BY position", id)
	fields, err3 := rowsOf(ctx, s, &e.Fields, "envelope_id = $1 ORDER BY position", id)
	documents, err4 := rowsOf(ctx, s, &e.Documents, "envelope_id = $1 ORDER BY kind, document_order", id)
	events, err5 := rowsOf(ctx, s, &log, "envelope_id = $1 ORDER BY seq", id)
	hooks, err6 := rowsOf(ctx, s, &w.hooks, "app_id = $1 AND active ORDER BY created_at, id", app)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return nil, err
	}
	queries := []query{root, signers, fields, documents}
	if want.log {
		queries = append(queries, events)
	}
	if want.hooks {
		queries = append(queries, hooks)
	}
	send := p.end // nothing comes after it
	if want.lock {
		send = p.send
	}
	if err := send(ctx, queries...); err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, models.ErrNotFound
	}
	w.envelope = roots[0]
	w.envelope.Signers, w.envelope.Fields, w.envelope.Documents = e.Signers, e.Fields, e.Documents
	if err := unsealAll(s, e.Signers); err != nil {
		return nil, err
	}
	for _, ev := range log {
		w.log = append(w.log, *ev)
	}
	return w, nil
}

// loadPlain asks for one thing after the other; on SQLite the transaction is the lock.
func (s *Store) loadPlain(tx *gorm.DB, app, id uuid.UUID, want wants) (*whole, error) {
	w := &whole{envelope: &models.Envelope{}}
	if err := tx.Where("id = ? AND app_id = ?", id, app).Take(w.envelope).Error; err != nil {
		return nil, found(err)
	}
	if err := s.attach(tx, map[uuid.UUID]*models.Envelope{id: w.envelope}); err != nil {
		return nil, err
	}
	if want.log {
		if err := tx.Where("envelope_id = ?", id).Order("seq").Find(&w.log).Error; err != nil {
			return nil, fmt.Errorf("load audit chain: %w", err)
		}
	}
	if !want.hooks {
		return w, nil
	}
	var err error
	w.hooks, err = activeHooks(tx, app)
	return w, err
}

// TenantOf is the tenant that an app's envelope belongs to.
func (s *Store) TenantOf(ctx context.Context, app, id uuid.UUID) (string, error) {
	e := &models.Envelope{}
	if err := s.db.WithContext(ctx).Select("tenant_id").Take(e, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return "", fmt.Errorf("load envelope %s: %w", id, found(err))
	}
	return e.TenantID, nil
}

// attach loads the signers, fields and documents of several envelopes.
func (s *Store) attach(db *gorm.DB, byID map[uuid.UUID]*models.Envelope) error {
	ids := make([]uuid.UUID, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	var signers []*models.Signer
	if err := db.Where("envelope_id IN ?", ids).Order("position").Find(&signers).Error; err != nil {
		return fmt.Errorf("load signers: %w", err)
	}
	if err := unsealAll(s, signers); err != nil {
		return err
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
	Search string        // an id, part of the subject or of a signer's name, a signer's address or its domain; "": all
	// CreatedAfter and CreatedBefore bound when it was made: from the first on, and before the second; zero: no bound.
	CreatedAfter, CreatedBefore time.Time
	Undelivered                 bool // a mail about it was given up
	Page                        int  // from 1
	Size                        int
}

// narrow reports whether the filter selects by more than app, tenant and status,
// whose totals are kept.
func (f Filter) narrow() bool {
	return f.Search != "" || f.Undelivered || !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero()
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

// matching are the ids of the envelopes of some statuses (none: any) that match.
func (s *Store) matching(db *gorm.DB, f Filter, statuses ...models.Status) *gorm.DB {
	q := db.Model(&models.Envelope{}).Select("id").Where("app_id = ?", f.App)
	if f.Tenant != "" {
		q = q.Where("tenant_id = ?", f.Tenant)
	}
	switch len(statuses) {
	case 0:
	case 1:
		q = q.Where("status = ?", statuses[0])
	default:
		q = q.Where("status IN ?", statuses)
	}
	if !f.CreatedAfter.IsZero() {
		q = q.Where("created_at >= ?", f.CreatedAfter.UTC())
	}
	if !f.CreatedBefore.IsZero() {
		q = q.Where("created_at < ?", f.CreatedBefore.UTC())
	}
	if f.Undelivered {
		q = q.Where("id IN (SELECT envelope_id FROM mails WHERE failed_at IS NOT NULL)")
	}
	if id, err := uuid.Parse(strings.TrimSpace(f.Search)); err == nil {
		q = q.Where("id = ?", id)
	} else if f.Search != "" {
		found, args := s.search(f.App, f.Search)
		q = q.Where("id IN ("+found+")", args...)
	}
	return q
}

// Envelopes lists envelopes, newest first, with the number of all that match;
// what a narrow filter selects is counted up to countLimit.
func (s *Store) Envelopes(ctx context.Context, f Filter) ([]*models.Envelope, int64, error) {
	db := s.db.WithContext(ctx)
	var total int64
	var err error
	if !f.narrow() {
		total, err = s.count(ctx, f.App, f.Tenant, f.statuses())
	} else {
		total, err = countUpTo(db, s.matching(db, f, f.statuses()...))
	}
	if err != nil {
		return nil, 0, err
	}
	offset := (f.Page - 1) * f.Size
	if int64(offset) >= total {
		return nil, total, nil
	}
	few := f.narrow() && total < countLimit
	var list []*models.Envelope
	err = s.read(ctx, func(tx *gorm.DB) error {
		if err := tx.Where("id IN (?)", s.ids(tx, f, offset, few)).Order("id DESC").Find(&list).Error; err != nil || len(list) == 0 {
			return err
		}
		byID := make(map[uuid.UUID]*models.Envelope, len(list))
		for _, e := range list {
			byID[e.ID] = e
		}
		return s.attach(tx, byID)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list envelopes: %w", err)
	}
	return list, total, nil
}

// ids selects the ids of the page. If few match they are found and then sorted;
// else each part of the page comes in the order of an index: one status needs no
// sorting, and two are merged.
func (s *Store) ids(db *gorm.DB, f Filter, offset int, few bool) *gorm.DB {
	of := f.statuses()
	switch {
	case few:
		return db.Table("(SELECT id FROM (?) AS found ORDER BY id DESC LIMIT ? OFFSET ?) AS page",
			s.matching(db, f, of...).Limit(countLimit), f.Size, offset).Select("id")
	case len(of) < 2:
		return db.Table("(?) AS page", s.matching(db, f, of...).Order("id DESC").Offset(offset).Limit(f.Size)).Select("id")
	}
	top := offset + f.Size
	a, b := s.matching(db, f, of[0]).Order("id DESC").Limit(top), s.matching(db, f, of[1]).Order("id DESC").Limit(top)
	return db.Table("(SELECT id FROM (?) AS a UNION ALL SELECT id FROM (?) AS b ORDER BY id DESC LIMIT ? OFFSET ?) AS page",
		a, b, f.Size, offset).Select("id")
}

// AuditEvents is the audit chain of an envelope as it was when e was loaded, in
// order.
func (s *Store) AuditEvents(ctx context.Context, e *models.Envelope) ([]models.Event, error) {
	var out []models.Event
	if err := s.db.WithContext(ctx).Where("envelope_id = ? AND seq <= ?", e.ID, e.AuditSeq).Order("seq").Find(&out).Error; err != nil {
		return nil, fmt.Errorf("load audit chain of %s: %w", e.ID, err)
	}
	return out, nil
}

// Values are the values that were signed for.
func (s *Store) Values(ctx context.Context, envelope uuid.UUID) ([]models.FieldValue, error) {
	var out []models.FieldValue
	if err := s.db.WithContext(ctx).Where("envelope_id = ?", envelope).Find(&out).Error; err != nil {
		return nil, fmt.Errorf("load values of %s: %w", envelope, err)
	}
	if err := unsealAll(s, pointers(out)); err != nil {
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
	return &out[0], unseal(s, &out[0])
}
