package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ColumnsOf returns the columns of an envelope's tables that are loaded and saved, by model.
func ColumnsOf() map[any][]string {
	return map[any][]string{
		&models.Envelope{}:       namesOf(envelopeColumns(&models.Envelope{})),
		&models.Signer{}:         namesOf(signerColumns(&models.Signer{})),
		&models.Document{}:       namesOf(documentColumns(&models.Document{})),
		&models.Field{}:          namesOf(fieldColumns(&models.Field{})),
		&models.FieldValue{}:     namesOf(valueColumns(&models.FieldValue{})),
		&models.Attachment{}:     namesOf(attachmentColumns(&models.Attachment{})),
		&models.SavedSignature{}: namesOf(savedSignatureColumns(&models.SavedSignature{})),
		&models.Event{}:          namesOf(eventColumns(&models.Event{})),
		&models.WebhookEvent{}:   namesOf(webhookEventColumns(&models.WebhookEvent{})),
	}
}

// AcquireWrites acquires the write lock.
func (s *Store) AcquireWrites(ctx context.Context) (release func(), err error) {
	return acquireWrite(ctx, s.writers)
}

// ReplicaPaused reports whether lists are read from the primary because the replica has failed.
func (s *Store) ReplicaPaused() bool { return s.now().UnixNano() < s.replica.notBefore.Load() }

// ExpectedMatches returns the number of envelopes that PostgreSQL expects to match a filter, and its query plan.
func (s *Store) ExpectedMatches(ctx context.Context, f EnvelopeFilter, few bool) (rows float64, plan string, err error) {
	err = s.transact(ctx, readOnly, func(t *transaction) error {
		db := t.gorm()
		if err := db.Raw("EXPLAIN (FORMAT JSON) ?", s.matching(db, f, few)).Row().Scan(&plan); err != nil {
			return err
		}
		var explained []struct {
			Plan struct {
				Rows float64 `json:"Plan Rows"`
			}
		}
		if err := json.Unmarshal([]byte(plan), &explained); err != nil {
			return err
		}
		rows = explained[0].Plan.Rows
		return nil
	})
	return rows, plan, err
}

// Plans returns the PostgreSQL query plans for finding the first envelopes that match a filter, and for finding a
// later page.
func (s *Store) Plans(ctx context.Context, f EnvelopeFilter) (plans [2]string, err error) {
	err = s.transact(ctx, readOnly, func(t *transaction) error {
		db := t.gorm()
		found := f.inTimeOrder(s.matching(db, f, true, f.statuses()...)).Limit(f.readAtOnce())
		for i, q := range []*gorm.DB{found, s.pageIDs(db, f, 0, false)} {
			if err := db.Raw("EXPLAIN (FORMAT JSON) ?", q).Row().Scan(&plans[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return plans, err
}

// EventWindow is the number of events that are examined for one page.
const EventWindow = eventWindow

// FirstSince returns the position of the first event since the given time, and the PostgreSQL query plan.
func (s *Store) FirstSince(ctx context.Context, app uuid.UUID, since time.Time, last int64) (position int64, plan string, err error) {
	db := s.db.WithContext(ctx)
	early, err := earlyPosition(db, app, since, last)
	if err != nil {
		return 0, "", err
	}
	query := firstSince(db, app, early, since, last)
	if err := query.Session(&gorm.Session{}).Scan(&position).Error; err != nil {
		return 0, "", err
	}
	return position, plan, db.Raw("EXPLAIN (ANALYZE, FORMAT JSON) ?", query).Row().Scan(&plan)
}

// PlanOfDeliveries returns the PostgreSQL query plan for one page of deliveries.
func (s *Store) PlanOfDeliveries(ctx context.Context, f DeliveryFilter) (plan string, err error) {
	db := s.db.WithContext(ctx)
	return plan, db.Raw("EXPLAIN (FORMAT JSON) ?", s.deliveriesPage(db, f)).Row().Scan(&plan)
}

// PlansOfLists returns, for each list, the query plan of a page after a cursor, with sorting disabled.
func (s *Store) PlansOfLists(ctx context.Context, app, after uuid.UUID) (map[string]string, error) {
	plans := make(map[string]string)
	err := s.transact(ctx, readOnly, func(t *transaction) error {
		explain := "EXPLAIN QUERY PLAN ?"
		if s.postgres {
			explain = "EXPLAIN ?"
			t.exec("SET LOCAL enable_sort = off")
			t.exec("SET LOCAL enable_seqscan = off")
			t.exec("SET LOCAL enable_bitmapscan = off")
		}
		db := t.gorm()
		for name, q := range map[string]*gorm.DB{
			"templates": templatesAfter(s.engine, db, TemplateFilter{App: app, After: after}), "templates of a tenant": templatesAfter(s.engine, db, TemplateFilter{App: app, Tenant: "t", After: after}),
			"bulk sends": bulkSendsAfter(db, app, "", after), "bulk sends of a tenant": bulkSendsAfter(db, app, "t", after),
			"rows": bulkRowsAfter(db, after, "", 20), "failed rows": bulkRowsAfter(db, after, models.BulkRowFailed, 20),
			"deliveries":        s.deliveriesPage(db, DeliveryFilter{App: app, After: after}),
			"failed deliveries": s.deliveriesPage(db, DeliveryFilter{App: app, Status: models.DeliveryFailed, After: after}),
		} {
			rows, err := find[map[string]any](db.Raw(explain, q.Limit(21)))
			if err != nil {
				return err
			}
			plans[name] = fmt.Sprint(rows)
		}
		return nil
	})
	return plans, err
}

// PlansOfArchiveKeys returns the PostgreSQL query plans for finding a page of archive keys and for finding a single
// archive key.
func (s *Store) PlansOfArchiveKeys(ctx context.Context, id string) (plans [2]string, err error) {
	db := s.db.WithContext(ctx)
	for i, q := range []*gorm.DB{secretsAfter(db, Archive{}.TableName(), "key", id), secretOf(db, Archive{}.TableName(), id).Select("key")} {
		if err := db.Raw("EXPLAIN (FORMAT JSON) ?", q).Row().Scan(&plans[i]); err != nil {
			return plans, err
		}
	}
	return plans, nil
}

// UUIDCodec is the codec for PostgreSQL UUIDs.
type UUIDCodec = uuidCodec

// Compress and Decompress are the compression functions for encrypted columns.
var (
	Compress   = compress
	Decompress = decompress
)

// DetectsChange reports whether Change would save the given change of an envelope.
func DetectsChange(e *models.Envelope, change func()) bool {
	before := newLoadedState(e)
	change()
	return !unchanged(e, before)
}

// MigratedConcurrently reports whether another process has migrated the database past the given version.
func (s *Store) MigratedConcurrently(ctx context.Context, before int64) (bool, error) {
	p, err := s.migrations()
	if err != nil {
		return false, err
	}
	return migratedConcurrently(ctx, p, before), nil
}

// ArchiveOf writes and reads back an archive with one value of n characters. It returns the length of its JSON.
func ArchiveOf(n int) (int, error) {
	c := &archiveContent{Format: archiveFormat, Values: []archivedValue{{Text: strings.Repeat("a", n)}}}
	plain, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	key, binding := newArchiveKey(), []byte("binding")
	file, err := c.encode(key, binding)
	if err != nil {
		return len(plain), err
	}
	again, err := decodeArchive(file, key, binding)
	if err == nil && len(again.Values[0].Text) != n {
		err = errors.New("the archive differs from the written content")
	}
	return len(plain), err
}
