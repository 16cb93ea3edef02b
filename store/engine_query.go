package store

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

func find[T any](q *gorm.DB) ([]T, error) {
	var rows []T
	err := q.Find(&rows).Error
	return rows, err
}

// findDecrypted is like find, but also decrypts the rows.
func findDecrypted[T any](s *engine, q *gorm.DB) ([]*T, error) {
	rows, err := find[*T](q)
	if err != nil {
		return nil, err
	}
	return rows, decryptAll(s, rows)
}

// first returns the first row of a query, or nil if the query has no rows.
func first[T any](q *gorm.DB) (*T, error) {
	rows, err := find[T](q.Limit(1))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// one returns a row that meets a condition, or models.ErrNotFound.
func one[T any](db *gorm.DB, where string, args ...any) (*T, error) {
	row := new(T)
	if err := db.Where(where, args...).Take(row).Error; err != nil {
		return nil, mapNotFound(err)
	}
	return row, nil
}

// whereNonZero adds a condition on a value to a query, unless the value is zero.
func whereNonZero[V comparable](q *gorm.DB, where string, value V) *gorm.DB {
	var none V
	if value == none {
		return q
	}
	return q.Where(where, value)
}

// oneDecrypted is like one, but also decrypts the row.
func oneDecrypted[T any](s *engine, db *gorm.DB, where string, args ...any) (*T, error) {
	row, err := one[T](db, where, args...)
	if err != nil {
		return nil, err
	}
	return row, decrypt(s, row)
}

func count(q *gorm.DB) (int64, error) {
	var n int64
	err := q.Count(&n).Error
	return n, err
}

// requireRows returns the error of a statement, or the given error if the statement changed no row.
func requireRows(done *gorm.DB, none error) error {
	if done.Error == nil && done.RowsAffected == 0 {
		return none
	}
	return done.Error
}

// mapNotFound replaces GORM's not-found error with models.ErrNotFound.
func mapNotFound(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return models.ErrNotFound
	}
	return err
}

// wrap adds the name of the failed operation to an error. It returns nil if err is nil.
func wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), err)
}

func mapSlice[T, R any](all []T, f func(T) R) []R {
	out := make([]R, 0, len(all))
	for _, v := range all {
		out = append(out, f(v))
	}
	return out
}

func pointers[T any](rows []T) []*T {
	out := make([]*T, 0, len(rows))
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

func setOf[K comparable](keys []K) map[K]bool {
	out := make(map[K]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

// locked makes a query lock its rows until the transaction ends. On SQLite, the immediate transaction suffices.
func (s *engine) locked(tx *gorm.DB) *gorm.DB {
	if s.postgres {
		return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return tx
}

// forUpdate returns the clause that locks the rows of a query. On SQLite, the immediate transaction suffices.
func (s *engine) forUpdate(lock bool) string {
	if lock && s.postgres {
		return " FOR UPDATE"
	}
	return ""
}

// lockExternalID makes other transactions that use the same external ID in a table wait until this one ends, so that
// they find the row that it writes. On SQLite, the immediate transaction suffices.
func (t *transaction) lockExternalID(table string, app uuid.UUID, tenant, externalID string) {
	if t.engine.postgres {
		t.exec("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", strings.Join([]string{table, app.String(), tenant, externalID}, "\n"))
	}
}

// normalizeForSearch removes differences in case and character composition (Unicode 3.13, D144 and D145).
func normalizeForSearch(parts ...string) string {
	return norm.NFKC.String(cases.Fold().String(strings.Join(parts, "\n")))
}

func countUpTo(db, q *gorm.DB) (int64, error) {
	part := q.Session(&gorm.Session{}).Select("1").Limit(countLimit)
	return count(db.Table("(?) AS part", part))
}

// countLimit is the number at which a page's total count stops.
const countLimit = 10_000

// firstID returns the lower bound of the version 7 UUIDs that are created at or after the given time. UUIDs created at
// least a millisecond earlier are less than this bound.
func firstID(at time.Time) uuid.UUID {
	var id uuid.UUID
	ms := max(at.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // one byte of ms
	}
	return id
}

func before(a, b uuid.UUID) bool { return string(a[:]) < string(b[:]) }

// CleanupBatch is the maximum number of rows that one call of RemoveExpired deletes in a short transaction.
const CleanupBatch = 1000

// EnvelopeRef identifies an envelope and the app it belongs to.
type EnvelopeRef struct {
	ID    uuid.UUID
	AppID uuid.UUID
}
