package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// Envelope loads an app's envelope with its signers, fields and documents.
func (s *Store) Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error) {
	l, err := s.loadEnvelope(ctx, app, id, loadOptions{})
	if err != nil {
		return nil, err
	}
	return l.envelopes[0], nil
}

// Whole loads an app's envelope with its audit chain, as they are at one moment.
func (s *Store) Whole(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, error) {
	l, err := s.loadEnvelope(ctx, app, id, loadOptions{events: true})
	if err != nil {
		return nil, nil, err
	}
	return l.envelopes[0], l.log(), nil
}

// loadOptions is what is to be done beside loading an envelope.
type loadOptions struct {
	lock     bool // hold the envelope until the transaction ends
	events   bool // load its audit chain
	webhooks bool // load the active webhooks of its app
}

// loaded is what the queries of a batch put together.
type loaded struct {
	envelopes []*models.Envelope
	signers   []*models.Signer
	fields    []*models.Field
	documents []*models.Document
	events    []*models.Event
	webhooks  []*models.Webhook
}

// log is the audit chain.
func (l *loaded) log() []models.Event {
	out := make([]models.Event, 0, len(l.events))
	for _, ev := range l.events {
		out = append(out, *ev)
	}
	return out
}

func (s *Store) loadEnvelope(ctx context.Context, app, id uuid.UUID, o loadOptions) (*loaded, error) {
	var l *loaded
	err := s.transact(ctx, readOnly, func(t *transaction) error {
		l = s.queueEnvelope(t, app, id, o)
		return nil
	})
	if err == nil {
		err = l.assemble(s)
	}
	if err != nil {
		return nil, fmt.Errorf("load envelope %s: %w", id, err)
	}
	return l, nil
}

// queueEnvelope adds the queries for an app's envelope. Whoever locks the
// envelope asks for the rest after that, so nothing of it can be older.
func (s *Store) queueEnvelope(t *transaction, app, id uuid.UUID, o loadOptions) *loaded {
	l := &loaded{}
	selectRows(&t.batch, &l.envelopes, envelopeColumns, "envelopes", "id = $1 AND app_id = $2"+s.forUpdate(o.lock), id, app)
	l.queueParts(&t.batch, id)
	if o.events {
		selectRows(&t.batch, &l.events, eventColumns, "audit_events", "envelope_id = $1 ORDER BY seq", id)
	}
	if o.webhooks {
		queueActiveWebhooks(&t.batch, &l.webhooks, app)
	}
	return l
}

// forUpdate is the clause that locks what a query finds. SQLite needs no more
// than its immediate transaction.
func (s *Store) forUpdate(lock bool) string {
	if lock && s.postgres {
		return " FOR UPDATE"
	}
	return ""
}

// queueEnvelopes adds the queries for envelopes whose ids are known.
func (s *Store) queueEnvelopes(t *transaction, order string, lock bool, ids ...uuid.UUID) *loaded {
	l := &loaded{}
	in, args := inList(ids)
	selectRows(&t.batch, &l.envelopes, envelopeColumns, "envelopes", "id "+in+" ORDER BY "+order+s.forUpdate(lock), args...)
	l.queueParts(&t.batch, ids...)
	return l
}

func (l *loaded) queueParts(b *batch, ids ...uuid.UUID) {
	in, args := inList(ids)
	selectRows(b, &l.signers, signerColumns, "signers", "envelope_id "+in+" ORDER BY position", args...)
	selectRows(b, &l.fields, fieldColumns, "fields", "envelope_id "+in+" ORDER BY position", args...)
	selectRows(b, &l.documents, documentColumns, "documents", "envelope_id "+in+" ORDER BY kind, document_order", args...)
}

func inList(ids []uuid.UUID) (in string, args []any) {
	for _, id := range ids {
		args = append(args, id)
	}
	return "IN (" + placeholders(0, len(ids)) + ")", args
}

// assemble puts the parts into their envelopes, once the queries are answered.
// It is models.ErrNotFound if there is none.
func (l *loaded) assemble(s *Store) error {
	if len(l.envelopes) == 0 {
		return models.ErrNotFound
	}
	if err := unsealAll(s, l.signers); err != nil {
		return err
	}
	byID := make(map[uuid.UUID]*models.Envelope, len(l.envelopes))
	for _, e := range l.envelopes {
		byID[e.ID] = e
	}
	for _, v := range l.signers {
		e := byID[v.EnvelopeID]
		e.Signers = append(e.Signers, v)
	}
	for _, v := range l.fields {
		e := byID[v.EnvelopeID]
		e.Fields = append(e.Fields, v)
	}
	for _, v := range l.documents {
		e := byID[v.EnvelopeID]
		e.Documents = append(e.Documents, v)
	}
	return nil
}

// TenantOf is the tenant that an app's envelope belongs to.
func (s *Store) TenantOf(ctx context.Context, app, id uuid.UUID) (string, error) {
	e := &models.Envelope{}
	if err := s.db.WithContext(ctx).Select("tenant_id").Take(e, "id = ? AND app_id = ?", id, app).Error; err != nil {
		return "", fmt.Errorf("load envelope %s: %w", id, found(err))
	}
	return e.TenantID, nil
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
	l := &loaded{}
	err = s.transact(ctx, readOnly, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var ids []uuid.UUID
		if err := s.ids(tx, f, offset, few).Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
			return err
		}
		l = s.queueEnvelopes(t, "id DESC", false, ids...)
		return nil
	})
	if err == nil && len(l.envelopes) > 0 {
		err = l.assemble(s)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list envelopes: %w", err)
	}
	return l.envelopes, total, nil
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
