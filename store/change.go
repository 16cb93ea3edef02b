package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/internal/failpoint"
	"countersign/models"
)

// errLostUpdate says that a row was changed by somebody who did not hold the
// envelope's lock. The transaction is undone.
var errLostUpdate = errors.New("store: the envelope was changed without its lock")

// Change locks the envelope, loads it, runs fn on it and saves what fn changed
// and recorded, all in one transaction. If fn returns an error nothing is
// changed and that error is returned. Another app's envelope is
// models.ErrNotFound.
func (s *Store) Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error) {
	var e *models.Envelope
	want := wants{lock: true, hooks: true}
	err := s.write(ctx, func(tx *gorm.DB) error {
		w, err := s.load(tx, app, id, want)
		if err != nil {
			return err
		}
		e = w.envelope
		before := snapshot(w)
		if err := fn(e); err != nil {
			return err
		}
		return s.save(tx, e, before)
	})
	if err != nil {
		return nil, fmt.Errorf("change envelope %s: %w", id, err)
	}
	s.committed(e)
	return e, nil
}

// Create stores a new envelope with all that it recorded.
func (s *Store) Create(ctx context.Context, e *models.Envelope) error {
	err := s.write(ctx, func(tx *gorm.DB) error { return s.save(tx, e, nil) })
	if err != nil {
		return fmt.Errorf("create envelope %s: %w", e.ID, err)
	}
	s.committed(e)
	return nil
}

func (s *Store) committed(e *models.Envelope) {
	failpoint.Hit("store.committed")
	e.Events, e.Values, e.Adopted = nil, nil, nil
	s.signalWake()
}

// locked makes a query hold the rows it reads until the transaction ends.
// SQLite needs no more than its immediate transaction.
func (s *Store) locked(tx *gorm.DB) *gorm.DB {
	if s.postgres {
		return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return tx
}

// before is what an envelope looked like when it was loaded, and who is told of
// its changes.
type before struct {
	hooks     []*models.Webhook
	envelope  models.Envelope
	signers   map[uuid.UUID]models.Signer
	fields    map[uuid.UUID]models.Field
	documents map[uuid.UUID]models.Document
}

func snapshot(w *whole) *before {
	e := w.envelope
	b := &before{
		hooks: w.hooks, envelope: *e, signers: make(map[uuid.UUID]models.Signer, len(e.Signers)),
		fields: make(map[uuid.UUID]models.Field, len(e.Fields)), documents: make(map[uuid.UUID]models.Document, len(e.Documents)),
	}
	for _, v := range e.Signers {
		b.signers[v.ID] = *v
	}
	for _, v := range e.Fields {
		b.fields[v.ID] = *v
	}
	for _, v := range e.Documents {
		b.documents[v.ID] = *v
	}
	return b
}

// save writes what differs from b (nil: all of it) and what was recorded.
func (s *Store) save(tx *gorm.DB, e *models.Envelope, b *before) error {
	if b != nil && len(e.Events) == 0 && unchanged(e, b) {
		return nil
	}
	if err := e.Chain(); err != nil {
		return err
	}
	e.Version++
	from := models.Status("")
	if b != nil {
		from = b.envelope.Status
	}
	if b == nil {
		if err := tx.Create(e).Error; err != nil {
			return fmt.Errorf("insert envelope: %w", err)
		}
		hooks, err := activeHooks(tx, e.AppID)
		if err != nil {
			return err
		}
		b = &before{hooks: hooks}
	} else if err := changedOne(tx.Model(e).Where("version = ?", b.envelope.Version).Select("*").Updates(e)); err != nil {
		return fmt.Errorf("update envelope: %w", err)
	}
	if err := countMove(tx, e, from); err != nil {
		return err
	}
	if err := s.makeFindable(tx, e, len(b.signers)); err != nil {
		return err
	}
	if err := saveRows(s, tx, e.Signers, b.signers, func(v *models.Signer) uuid.UUID { return v.ID }); err != nil {
		return fmt.Errorf("save signers: %w", err)
	}
	if err := saveRows(s, tx, e.Documents, b.documents, func(v *models.Document) uuid.UUID { return v.ID }); err != nil {
		return fmt.Errorf("save documents: %w", err)
	}
	if err := saveRows(s, tx, e.Fields, b.fields, func(v *models.Field) uuid.UUID { return v.ID }); err != nil {
		return fmt.Errorf("save fields: %w", err)
	}
	if len(e.Values) > 0 {
		if err := tx.CreateInBatches(sealedAll(s, pointers(e.Values)), 100).Error; err != nil {
			return fmt.Errorf("insert values: %w", err)
		}
	}
	if e.Adopted != nil {
		e.Adopted.EmailKey = s.savedKeys(e.Adopted)[0]
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(sealed(s, e.Adopted)).Error; err != nil {
			return fmt.Errorf("save adopted signature: %w", err)
		}
	}
	if len(e.Events) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(e.Events, 200).Error; err != nil {
		return fmt.Errorf("append to the audit chain: %w", err)
	}
	return s.tell(tx, e, b.hooks)
}

// changedOne is an error if a statement did not change exactly one row. In a
// pipe it will be one.
func changedOne(res *gorm.DB) error {
	if p, ok := res.Statement.ConnPool.(*pipe); ok && res.Error == nil {
		p.mustChangeOne()
		return nil
	}
	if res.Error == nil && res.RowsAffected != 1 {
		return errLostUpdate
	}
	return res.Error
}

func unchanged(e *models.Envelope, b *before) bool {
	if len(e.Signers) != len(b.signers) || len(e.Fields) != len(b.fields) || len(e.Documents) != len(b.documents) ||
		len(e.Values) > 0 || e.Adopted != nil || !reflect.DeepEqual(*e, b.envelope) {
		return false
	}
	for _, v := range e.Signers {
		if !reflect.DeepEqual(*v, b.signers[v.ID]) {
			return false
		}
	}
	return true
}

// saveRows inserts the rows that are new and updates those that changed.
func saveRows[T any](s *Store, tx *gorm.DB, rows []*T, old map[uuid.UUID]T, id func(*T) uuid.UUID) error {
	var added []*T
	for _, row := range rows {
		was, ok := old[id(row)]
		switch {
		case !ok:
			added = append(added, sealed(s, row))
		case !reflect.DeepEqual(was, *row):
			if err := updateRow(s, tx, row, &was); err != nil {
				return err
			}
		}
	}
	if len(added) == 0 {
		return nil
	}
	return tx.CreateInBatches(added, 100).Error
}
