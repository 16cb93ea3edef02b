package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"countersign/models"
)

// encryptedColumn is an encrypted column of a row. Either text or data points to its value.
type encryptedColumn struct {
	name       string
	text       *string
	data       *[]byte
	compressed bool // whether data is JSON to be compressed, see compress
}

// encryptedRow lists the encrypted columns of a row. Each encrypted value is bound to its column and row, so that it
// cannot be decrypted elsewhere.
type encryptedRow struct {
	table, key string
	columns    []encryptedColumn
}

// registry is the list of encrypted columns. Each repository registers its rows and secrets when the store is opened.
type registry struct {
	rows    map[reflect.Type]func(row any) encryptedRow
	secrets []secretColumn
	rewraps []func(context.Context, *rewrapping) error
}

// secretColumn is a column of secrets that are encrypted under a separate label.
type secretColumn struct{ table, column, label string }

// encryptRows registers the encrypted columns of a model's rows.
func encryptRows[T any](s *engine, rowOf func(*T) encryptedRow) {
	s.registry.rows[reflect.TypeFor[*T]()] = func(row any) encryptedRow {
		v, ok := row.(*T)
		if !ok {
			return encryptedRow{}
		}
		return rowOf(v)
	}
}

// encryptSecrets registers a column of secrets.
func encryptSecrets(s *engine, table, column, label string) {
	s.registry.secrets = append(s.registry.secrets, secretColumn{table, column, label})
}

// encryptedRowOf returns the encrypted columns of a row, which must be a pointer to a model.
func (s *engine) encryptedRowOf(row any) encryptedRow {
	if rowOf, ok := s.registry.rows[reflect.TypeOf(row)]; ok {
		return rowOf(row)
	}
	return encryptedRow{}
}

// ownCopy replaces an optional string with a copy, because other rows may share the string. It returns the copy.
func ownCopy(p **string) *string {
	if *p == nil {
		return nil
	}
	text := **p
	*p = &text
	return &text
}

func (r encryptedRow) label(c encryptedColumn) string { return r.table + "." + c.name + " " + r.key }

func (r encryptedRow) names() []string {
	return mapSlice(r.columns, func(c encryptedColumn) string { return c.name })
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// encrypt returns a copy of a row in the form in which it is stored in the database.
func encrypt[T any](s *engine, row *T) *T {
	out := *row
	r := s.encryptedRowOf(&out)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text = s.vault.EncryptText(*c.text, r.label(c))
		}
		if c.compressed {
			*c.data = compress(*c.data)
		}
		if c.data != nil {
			*c.data = s.vault.EncryptBytes(*c.data, r.label(c))
		}
	}
	return &out
}

// errUnreadable means that a value exists but cannot be decrypted.
var errUnreadable = errors.New("a value cannot be decrypted")

// decrypt decrypts, in place, a row that was read from the database. Its error wraps errUnreadable.
func decrypt[T any](s *engine, row *T) (err error) {
	r := s.encryptedRowOf(row)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text, err = s.vault.DecryptText(*c.text, r.label(c))
		}
		if c.data != nil && err == nil {
			*c.data, err = s.vault.DecryptBytes(*c.data, r.label(c))
		}
		if c.compressed && err == nil {
			*c.data, err = decompress(*c.data)
		}
		if err != nil {
			return fmt.Errorf("store: %w: %w", errUnreadable, err)
		}
	}
	return nil
}

func decryptAll[T any](s *engine, rows []*T) error {
	for _, row := range rows {
		if err := decrypt(s, row); err != nil {
			return err
		}
	}
	return nil
}

// needsRewrap reports whether a row, as read from the database, must be re-encrypted.
func (s *engine) needsRewrap(r encryptedRow) bool {
	return slices.ContainsFunc(r.columns, func(c encryptedColumn) bool {
		return c.text != nil && s.vault.TextNeedsRewrap(*c.text) || c.data != nil && s.vault.BytesNeedRewrap(*c.data)
	})
}

// addressKeys returns the hashes under which an address can be found. The first one is used for writing. The others
// were computed with former master keys.
func (s *engine) addressKeys(scope, email string) []string {
	return s.index.Hashes(scope, models.EmailKey(email))
}

// hashOf returns the hash of a string that is stored only for comparison.
func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
