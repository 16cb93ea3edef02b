package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/internal/vault"
	"countersign/models"
)

// Rewrapper re-encrypts what is stored.
type Rewrapper struct {
	*engine

	apps      *AppRepository
	users     *UserRepository
	envelopes *EnvelopeRepository
}

// rewrapPage is how many rows are looked at in one transaction.
const rewrapPage = 100

// RewrapCounts is how much was re-encrypted.
type RewrapCounts struct {
	Secrets int // client and webhook secrets, and the service's keys
	Rows    int // with addresses, phone numbers or signed values
	// Unreadable names the rows that were encrypted with a master key that is not given, as "table key". They stay as they are.
	Unreadable []string
}

// rewrapping collects the result while rows are re-encrypted. A transaction that is retried names a row twice.
type rewrapping struct {
	counts     RewrapCounts
	unreadable map[string]bool
}

// skip reports whether a row cannot be decrypted with the master keys that are given, and notes it.
func (r *rewrapping) skip(table, key string, err error) bool {
	if !errors.Is(err, vault.ErrUnknownKey) {
		return false
	}
	r.unreadable[table+" "+key] = true
	return true
}

// Rewrap re-encrypts with the newest master key every value that was encrypted with another, and hashes addresses with that key.
// The service may be running if it knows both master keys. After an error the rows done so far stay done.
func (s *Rewrapper) Rewrap(ctx context.Context) (RewrapCounts, error) {
	r := &rewrapping{unreadable: make(map[string]bool)}
	err := s.rewrapAll(ctx, r)
	r.counts.Unreadable = slices.Sorted(maps.Keys(r.unreadable))
	return r.counts, err
}

func (s *Rewrapper) rewrapAll(ctx context.Context, r *rewrapping) error {
	for _, c := range []struct {
		table, column, label string
	}{
		{"signing_keys", "private", labelSigningKey},
		{"envelope_archives", "key", labelArchiveKey},
		{"client_secrets", "cipher", labelClientSecret},
		{"webhooks", "secret", labelWebhookSecret},
		{"webhooks", "previous_secret", labelWebhookSecret},
		{"console_factors", "secret", labelConsoleFactor},
		{"console_sessions", "device", labelConsoleDevice},
		{"console_challenges", "data", labelConsoleChallenge},
	} {
		err := eachPage(ctx, &r.counts.Secrets, func(ctx context.Context, after string) (string, int, error) {
			return s.rewrapSecrets(ctx, r, c.table, c.column, c.label, after)
		})
		if err != nil {
			return fmt.Errorf("rewrap %s.%s: %w", c.table, c.column, err)
		}
	}
	for _, rewrap := range []func(context.Context) error{
		rewrapTable(s.engine, r, "id", rewrapRow[models.App](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow(s.engine, s.users.rehashUser)),
		rewrapTable(s.engine, r, "id", rewrapRow(s.engine, s.apps.rehashContact)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.Field](s.engine, nil)),
		rewrapTable(s.engine, r, "field_id", rewrapRow[models.FieldValue](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.Attachment](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.TemplateVersion](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.WebhookEvent](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.BulkRow](s.engine, nil)),
		rewrapTable(s.engine, r, "id", rewrapRow[models.DeliveryAttempt](s.engine, nil)),
		rewrapTable(s.engine, r, "app_id, tenant_id", rewrapRow[models.Settings](s.engine, nil)),
		rewrapTable(s.engine, r, "app_id, email_key", s.envelopes.rewrapSaved),
		func(ctx context.Context) error {
			return eachPage(ctx, &r.counts.Rows, func(ctx context.Context, after uuid.UUID) (uuid.UUID, int, error) {
				return s.envelopes.rewrapSigners(ctx, r, after)
			})
		},
	} {
		if err := rewrap(ctx); err != nil {
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
func (s *Rewrapper) rewrapSecrets(ctx context.Context, result *rewrapping, table, column, label, after string) (last string, n int, err error) {
	var rows []struct {
		Key       string // its id
		Encrypted []byte
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(secretsAfter(tx, table, column, after)).Scan(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			last = r.Key
			if len(r.Encrypted) == 0 || !s.vault.NeedsRewrap(r.Encrypted) {
				continue
			}
			plain, err := s.vault.Decrypt(r.Encrypted, label)
			if result.skip(table, r.Key, err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.Key, err)
			}
			err = secretOf(tx, table, r.Key).Update(column, s.vault.Encrypt(plain, label)).Error
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

// rewrapTable re-encrypts the stale rows of the table of T, page by page along its
// key: an id, or the id of an app and the name of the row within the app.
func rewrapTable[T any](s *engine, result *rewrapping, key string, rewrap func(tx *gorm.DB, row *T) error) func(context.Context) error {
	page := func(ctx context.Context, after string) (last string, n int, err error) {
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
				r := encryptedRowOf(row)
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
	return func(ctx context.Context) error { return eachPage(ctx, &result.counts.Rows, page) }
}

// tableOf returns the name of the table of a model.
func tableOf(tx *gorm.DB, row any) string {
	statement := &gorm.Statement{DB: tx}
	if err := statement.Parse(row); err != nil {
		return fmt.Sprintf("%T", row)
	}
	return statement.Table
}

// rewrapRow encrypts a row anew. rekey, which may be nil, gives a decrypted row its
// hash, or removes the row.
func rewrapRow[T any](s *engine, rekey func(*gorm.DB, *T) error) func(*gorm.DB, *T) error {
	return func(tx *gorm.DB, row *T) error {
		if err := decrypt(s, row); err != nil {
			return err
		}
		columns := encryptedRowOf(row).names()
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

func (s *UserRepository) rehashUser(_ *gorm.DB, u *models.ConsoleUser) error {
	if u.DisabledAt == nil {
		u.EmailKey = s.userKeys(u.Email)[0]
	}
	return nil
}

// rehashContact removes a contact whose address has another under the newest key:
// processes that knew different keys made both at the same moment.
func (s *AppRepository) rehashContact(tx *gorm.DB, c *models.Contact) error {
	c.EmailKey = s.contactKeys(c.AppID, c.Email)[0]
	others, err := count(tx.Model(c).Where("app_id = ? AND email_key = ? AND id <> ?", c.AppID, c.EmailKey, c.ID))
	if err != nil || others == 0 {
		return err
	}
	return tx.Delete(&models.Contact{}, "id = ?", c.ID).Error
}

// rewrapSaved makes the row of a saved signature anew: a hash is its key.
func (s *EnvelopeRepository) rewrapSaved(tx *gorm.DB, row *models.SavedSignature) error {
	if err := decrypt(s.engine, row); err != nil {
		return err
	}
	if err := tx.Delete(&models.SavedSignature{}, "app_id = ? AND email_key = ?", row.AppID, row.EmailKey).Error; err != nil {
		return err
	}
	row.EmailKey = s.savedKeys(row)[0]
	// Where there is one under the newest key, the person has signed since.
	return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(encrypt(s.engine, row)).Error
}

// rewrapSigners re-encrypts the signers of a page of envelopes after one, and returns the
// last envelope. The envelopes are locked, as for any change.
func (s *EnvelopeRepository) rewrapSigners(ctx context.Context, result *rewrapping, after uuid.UUID) (last uuid.UUID, n int, err error) {
	var ids []uuid.UUID
	db := s.db.WithContext(ctx)
	if err := db.Model(&models.Envelope{}).Where("id > ?", after).Order("id").Limit(rewrapPage).Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
		return last, 0, err
	}
	last = ids[len(ids)-1]
	signers, err := find[*models.Signer](db.Select("id", "envelope_id", "email", "phone", "previous", "host_email").Where("envelope_id IN ?", ids))
	if err != nil {
		return last, 0, err
	}
	stale, unreadable := make(map[uuid.UUID]bool), make(map[uuid.UUID]bool)
	for _, v := range signers {
		if !s.needsRewrap(encryptedRowOf(v)) {
			continue
		}
		if result.skip("signers of envelope", v.EnvelopeID.String(), decrypt(s.engine, v)) {
			unreadable[v.EnvelopeID] = true
		}
		stale[v.EnvelopeID] = true
		n++
	}
	maps.DeleteFunc(stale, func(id uuid.UUID, _ bool) bool { return unreadable[id] })
	if len(stale) == 0 {
		return last, 0, nil
	}
	return last, n, s.transact(ctx, readWrite, func(t *transaction) error { return s.reencryptSigners(t, stale) })
}

// reencryptSigners encrypts anew the signers of some envelopes, and hashes their
// addresses anew.
func (s *EnvelopeRepository) reencryptSigners(t *transaction, of map[uuid.UUID]bool) error {
	l := s.lists.queueEnvelopes(t, "id", true, slices.Collect(maps.Keys(of))...)
	if err := t.send(); err != nil {
		return err
	}
	if err := l.assemble(s.engine); err != nil {
		return err
	}
	for _, e := range l.envelopes {
		for _, v := range e.Recipients() {
			row := encrypt(s.engine, v)
			t.update("signers", []column{{"id", &row.ID}}, []column{
				{"email", &row.Email}, {"phone", &row.Phone}, {"previous", &row.PreviousJSON}, {"host_email", &row.HostEmail},
			})
		}
		s.lists.indexForSearch(&t.batch, e)
	}
	return nil
}
