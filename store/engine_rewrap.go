package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"countersign/internal/vault"
)

// rewrapPage is the number of rows examined in one transaction.
const rewrapPage = 100

// RewrapCounts counts the re-encrypted values.
type RewrapCounts struct {
	Secrets int // client and webhook secrets, and the service's keys
	Rows    int // with addresses, phone numbers or signed values
	// Unreadable names rows that are damaged or encrypted with a master key that is not configured, as "table key". They stay
	// unchanged.
	Unreadable []string
}

// rewrapping collects the result while rows are re-encrypted. A transaction that is retried names a row twice.
type rewrapping struct {
	counts     RewrapCounts
	unreadable map[string]bool
}

// skip reports whether a row cannot be decrypted with the configured master keys, and records it.
func (r *rewrapping) skip(table, key string, err error) bool {
	if !errors.Is(err, vault.ErrUnknownKey) && !errors.Is(err, vault.ErrDamaged) {
		return false
	}
	r.unreadable[table+" "+key] = true
	return true
}

// Rewrap re-encrypts with the newest master key every value that was encrypted with another, and hashes addresses with that key.
// The service may be running if it knows both master keys. After an error the rows done so far stay done.
func (s *engine) Rewrap(ctx context.Context) (RewrapCounts, error) {
	r := &rewrapping{unreadable: make(map[string]bool)}
	err := s.rewrapAll(ctx, r)
	r.counts.Unreadable = slices.Sorted(maps.Keys(r.unreadable))
	return r.counts, err
}

func (s *engine) rewrapAll(ctx context.Context, r *rewrapping) error {
	for _, c := range s.registry.secrets {
		err := eachPage(ctx, &r.counts.Secrets, func(ctx context.Context, after string) (string, int, error) {
			return s.rewrapSecrets(ctx, r, c, after)
		})
		if err != nil {
			return fmt.Errorf("rewrap %s.%s: %w", c.table, c.column, err)
		}
	}
	for _, rewrap := range s.registry.rewraps {
		if err := rewrap(ctx, r); err != nil {
			return fmt.Errorf("rewrap: %w", err)
		}
	}
	return nil
}

// eachPage calls page with the zero key and then with the last key that it
// returned, until that is zero; and adds up how many rows it changed.
func eachPage[K comparable](ctx context.Context, total *int, page func(ctx context.Context, after K) (last K, n int, err error)) error {
	var none, after K
	for {
		last, n, err := page(ctx, after)
		if err != nil {
			return err
		}
		*total += n
		if last == none {
			return nil
		}
		after = last
	}
}

// rewrapSecrets re-encrypts a page of secrets after one, and returns the key of the last.
func (s *engine) rewrapSecrets(ctx context.Context, result *rewrapping, c secretColumn, after string) (last string, n int, err error) {
	var rows []struct {
		Key       string // its id
		Encrypted []byte
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(secretsAfter(tx, c.table, c.column, after)).Scan(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			last = r.Key
			if len(r.Encrypted) == 0 || !s.vault.NeedsRewrap(r.Encrypted) {
				continue
			}
			plain, err := s.vault.Decrypt(r.Encrypted, c.label)
			if result.skip(c.table, r.Key, err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.Key, err)
			}
			err = secretOf(tx, c.table, r.Key).Update(c.column, s.vault.Encrypt(plain, c.label)).Error
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return last, n, err
}

// secretsAfter selects a page of the secrets of a table after an id; "": the first page. Ids are UUIDs in some tables, and texts in others.
func secretsAfter(tx *gorm.DB, table, column, after string) *gorm.DB {
	q := tx.Table(table).Select("CAST(id AS text) AS key, " + column + " AS encrypted").Where(column + " IS NOT NULL")
	return whereGiven(q, "id > ?", after).Order(table + ".id").Limit(rewrapPage)
}

// secretOf selects a row of secrets.
func secretOf(tx *gorm.DB, table, id string) *gorm.DB { return tx.Table(table).Where("id = ?", id) }

// rewrapRows registers T for re-encryption in the order of its key: an id, or an app id and a name. rekey, which may
// be nil, updates the hash of a decrypted row, or deletes the row.
func rewrapRows[T any](s *engine, key string, rekey func(*gorm.DB, *T) error) {
	rewrapTable(s, key, rewrapRow(s, rekey))
}

// rewrapTable registers rewrap for the stale rows of the table of T, page by page along its key.
func rewrapTable[T any](s *engine, key string, rewrap func(tx *gorm.DB, row *T) error) {
	page := func(ctx context.Context, result *rewrapping, after string) (last string, n int, err error) {
		err = s.tx(ctx, func(tx *gorm.DB) error {
			q := s.locked(tx)
			if after != "" {
				q = q.Where("("+key+") > ?", strings.SplitN(after, "/", 2))
			}
			rows, err := find[*T](q.Order(key).Limit(rewrapPage))
			if err != nil {
				return err
			}
			for _, row := range rows {
				r := s.encryptedRowOf(row)
				last = r.key
				if !s.needsRewrap(r) {
					continue
				}
				err := rewrap(tx, row)
				if result.skip(tableOf(tx, row), r.key, err) {
					continue
				}
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		return last, n, err
	}
	s.registry.rewraps = append(s.registry.rewraps, func(ctx context.Context, result *rewrapping) error {
		return eachPage(ctx, &result.counts.Rows, func(ctx context.Context, after string) (string, int, error) { return page(ctx, result, after) })
	})
}

// tableOf returns the name of the table of a model.
func tableOf(tx *gorm.DB, row any) string {
	statement := &gorm.Statement{DB: tx}
	if err := statement.Parse(row); err != nil {
		return fmt.Sprintf("%T", row)
	}
	return statement.Table
}

// rewrapRow re-encrypts a row. rekey, which may be nil, updates the hash of a decrypted row, or removes the row.
func rewrapRow[T any](s *engine, rekey func(*gorm.DB, *T) error) func(*gorm.DB, *T) error {
	return func(tx *gorm.DB, row *T) error {
		if err := decrypt(s, row); err != nil {
			return err
		}
		columns := s.encryptedRowOf(row).names()
		if rekey != nil {
			if err := rekey(tx, row); err != nil {
				return err
			}
			columns = append(columns, "email_key")
		}
		row = encrypt(s, row)
		return tx.Model(row).Select(columns).Updates(row).Error
	}
}
