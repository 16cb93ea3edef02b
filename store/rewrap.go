package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// rewrapPage is how many rows are looked at in one transaction.
const rewrapPage = 200

// Rewrap seals anew, with the newest master key, every secret that was sealed
// with another: client and webhook secrets, and the service's keys. It returns
// how many. The service may be running, if it knows both master keys.
func (s *Store) Rewrap(ctx context.Context) (n int, err error) {
	for _, c := range []struct {
		table, column, label string
	}{
		{"signing_keys", "private", labelSigningKey},
		{"client_secrets", "cipher", labelClientSecret},
		{"webhooks", "secret", labelWebhookSecret},
		{"webhooks", "previous_secret", labelWebhookSecret},
	} {
		for after := ""; ; {
			last, changed, err := s.rewrapPage(ctx, c.table, c.column, c.label, after)
			n += changed
			if err != nil {
				return n, fmt.Errorf("rewrap %s.%s: %w", c.table, c.column, err)
			}
			if last == "" {
				break
			}
			after = last
		}
	}
	return n, nil
}

// rewrapPage looks at the rows after one and returns the last; "" at the end.
func (s *Store) rewrapPage(ctx context.Context, table, column, label, after string) (last string, n int, err error) {
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
