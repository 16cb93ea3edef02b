package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// ReserveQuota reserves up to n of the remaining requests in key's window, which began at start. It returns the number
// of reserved requests and the number remaining. A negative n releases requests. The database stores only a keyed hash
// of key, which can contain an address.
func (s *engine) ReserveQuota(ctx context.Context, key string, start time.Time, length time.Duration, n, limit int) (taken, left int, err error) {
	start, key = start.UTC(), s.index.Hashes("windows", key)[0]
	if n < 0 {
		err = s.db.WithContext(ctx).Table("rate_windows").Where("key = ? AND starts_at = ?", key, start).UpdateColumn("used", gorm.Expr("used + ?", n)).Error
		if err != nil {
			return 0, 0, fmt.Errorf("release requests: %w", err)
		}
		return 0, 0, nil
	}
	var row struct{ Used int }
	// SQL: ON CONFLICT adds to an existing row, and RETURNING reads the sum.
	err = s.db.WithContext(ctx).Raw(`INSERT INTO rate_windows (key, starts_at, used, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (key, starts_at) DO UPDATE SET used = rate_windows.used + excluded.used RETURNING used`,
		key, start, n, start.Add(2*length)).Find(&row).Error
	if err != nil {
		return 0, 0, fmt.Errorf("count requests: %w", err)
	}
	before := row.Used - n
	return max(0, min(n, limit-before)), max(0, limit-row.Used), nil
}

// knownCallersWindow is the start time of the rows that record known callers. No rate limit window starts at that time.
var knownCallersWindow = time.Unix(0, 0).UTC()

// RememberCaller stores the time until which a caller is known. The database stores only a keyed hash of key, which
// can contain an address.
func (s *engine) RememberCaller(ctx context.Context, key string, until time.Time) error {
	// SQL: the statement is an upsert.
	err := s.db.WithContext(ctx).Exec(`INSERT INTO rate_windows (key, starts_at, used, expires_at) VALUES (?, ?, 0, ?)
		ON CONFLICT (key, starts_at) DO UPDATE SET expires_at = excluded.expires_at`, s.index.Hashes("windows", key)[0], knownCallersWindow, until.UTC()).Error
	return wrap(err, "store caller")
}

// CallerKnownUntil returns the time stored by RememberCaller, or the zero time.
func (s *engine) CallerKnownUntil(ctx context.Context, key string) (time.Time, error) {
	var until []time.Time
	err := s.db.WithContext(ctx).Table("rate_windows").Where("key IN ? AND starts_at = ?", s.index.Hashes("windows", key), knownCallersWindow).
		Pluck("expires_at", &until).Error
	if err != nil {
		return time.Time{}, fmt.Errorf("find caller: %w", err)
	}
	var latest time.Time
	for _, t := range until {
		if t.After(latest) {
			latest = t
		}
	}
	return latest, nil
}
