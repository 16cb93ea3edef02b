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

// rewrapPage is the number of rows that are examined in one transaction.
const rewrapPage = 100

// RewrapCounts contains the number of re-encrypted values of each kind.
type RewrapCounts struct {
	Secrets int // client secrets, webhook secrets and keys of the service
	Rows    int // rows with addresses, phone numbers or signed values
	// Unreadable lists the rows that cannot be decrypted, in the form "table key". They are damaged or encrypted with
	// a master key that is not configured, and are left unchanged.
	Unreadable []string
}

// rewrapping collects the results of re-encryption. It lists a row only once even if the row's transaction is retried.
type rewrapping struct {
	counts     RewrapCounts
	unreadable map[string]bool
}

// skip reports whether a row cannot be decrypted with the configured master keys, and records such a row.
func (r *rewrapping) skip(table, key string, err error) bool {
	if !errors.Is(err, vault.ErrUnknownKey) && !errors.Is(err, vault.ErrDamaged) {
		return false
	}
	r.unreadable[table+" "+key] = true
	return true
}

// Rewrap re-encrypts all values that were encrypted with an older master key, and recalculates the hashes of addresses.
// The service can keep running if both master keys are configured. After an error, the rows that were already
// re-encrypted stay re-encrypted.
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

// eachPage calls page repeatedly until a call returns no last key. The first call receives the zero key, and each later
// call receives the last key of the previous page. eachPage adds the number of changed rows to total.
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

// rewrapSecrets re-encrypts the page of secrets after the given ID, and returns the ID of the last secret.
func (s *engine) rewrapSecrets(ctx context.Context, result *rewrapping, c secretColumn, after string) (last string, n int, err error) {
	var rows []struct {
		Key       string // ID of the row
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

// secretsAfter selects the page of secrets in a table after the given ID, or the first page if the ID is empty. IDs
// are UUIDs in some tables and strings in others.
func secretsAfter(tx *gorm.DB, table, column, after string) *gorm.DB {
	q := tx.Table(table).Select("CAST(id AS text) AS key, " + column + " AS encrypted").Where(column + " IS NOT NULL")
	return whereNonZero(q, "id > ?", after).Order(table + ".id").Limit(rewrapPage)
}

func secretOf(tx *gorm.DB, table, id string) *gorm.DB { return tx.Table(table).Where("id = ?", id) }

// rewrapRows registers the rows of T for re-encryption in the order of key, which consists of an ID, or of an app ID
// and a name. The optional function rekey updates the hash of a decrypted row or deletes the row.
func rewrapRows[T any](s *engine, key string, rekey func(*gorm.DB, *T) error) {
	rewrapTable(s, key, rewrapRow(s, rekey))
}

// rewrapTable registers rewrap for the outdated rows of T. It processes the rows page by page in the order of key.
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

func tableOf(tx *gorm.DB, row any) string {
	statement := &gorm.Statement{DB: tx}
	if err := statement.Parse(row); err != nil {
		return fmt.Sprintf("%T", row)
	}
	return statement.Table
}

// rewrapRow returns a function that re-encrypts a row. The optional function rekey updates the hash of a decrypted row
// or deletes the row.
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
