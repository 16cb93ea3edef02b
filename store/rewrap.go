package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"countersign/models"
)

// rewrapPage is how many rows are looked at in one transaction.
const rewrapPage = 100

// Rewrapped is how much was sealed anew.
type Rewrapped struct {
	Secrets int // client and webhook secrets, and the service's keys
	Rows    int // with addresses, phone numbers or signed values
}

// Rewrap seals with the newest master key every value that was sealed with
// another, and hashes addresses with that key. The service may be running, if it knows both master
// keys. What was done stays done if it is cut off.
func (s *Store) Rewrap(ctx context.Context) (n Rewrapped, err error) {
	for _, c := range []struct {
		table, column, label string
	}{
		{"signing_keys", "private", labelSigningKey},
		{"client_secrets", "cipher", labelClientSecret},
		{"webhooks", "secret", labelWebhookSecret},
		{"webhooks", "previous_secret", labelWebhookSecret},
		{"console_factors", "secret", labelConsoleFactor},
		{"console_sessions", "device", labelConsoleDevice},
	} {
		err := pages(ctx, &n.Secrets, func(ctx context.Context, after string) (string, int, error) {
			return s.rewrapSecrets(ctx, c.table, c.column, c.label, after)
		})
		if err != nil {
			return n, fmt.Errorf("rewrap %s.%s: %w", c.table, c.column, err)
		}
	}
	rows := &n.Rows
	for _, rewrap := range []func(context.Context) error{
		rewrapTable[models.App](s, rows, "id", nil),
		rewrapTable(s, rows, "id", s.rekeyUser),
		rewrapTable(s, rows, "id", s.rekeyContact),
		rewrapTable[models.FieldValue](s, rows, "field_id", nil),
		rewrapTable[models.WebhookEvent](s, rows, "id", nil),
		rewrapTable[models.DeliveryAttempt](s, rows, "id", nil),
		func(ctx context.Context) error { return pages(ctx, rows, s.rewrapSaved) },
		func(ctx context.Context) error { return pages(ctx, rows, s.rewrapSigners) },
		func(ctx context.Context) error { return pages(ctx, rows, s.rewrapSettings) },
	} {
		if err := rewrap(ctx); err != nil {
			return n, fmt.Errorf("rewrap: %w", err)
		}
	}
	return n, nil
}

// pages calls page with the zero key and then with the last key that it
// returned, until that is zero; and adds up how many rows it changed.
func pages[K comparable](ctx context.Context, total *int, page func(ctx context.Context, after K) (last K, n int, err error)) error {
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

// rewrapSecrets looks at the secrets after one and returns the last.
func (s *Store) rewrapSecrets(ctx context.Context, table, column, label, after string) (last string, n int, err error) {
	var rows []struct {
		ID     string
		Sealed []byte
	}
	err = s.tx(ctx, func(tx *gorm.DB) error {
		q := tx.Table(table).Select("CAST(id AS text) AS id, "+column+" AS sealed").Where("CAST(id AS text) > ? AND "+column+" IS NOT NULL", after)
		if err := s.locked(q).Order("CAST(id AS text)").Limit(rewrapPage).Scan(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			last = r.ID
			if len(r.Sealed) == 0 || !s.vault.Stale(r.Sealed) {
				continue
			}
			plain, err := s.vault.Open(r.Sealed, label)
			if err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
			err = tx.Table(table).Where("CAST(id AS text) = ?", r.ID).Update(column, s.vault.Seal(plain, label)).Error
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return last, n, err
}
