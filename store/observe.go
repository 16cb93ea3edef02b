package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Pool is the pool of connections, for its figures alone.
func (s *Store) Pool() (*sql.DB, error) {
	conn, err := s.db.DB()
	if err != nil {
		return nil, fmt.Errorf("connections of the database: %w", err)
	}
	return conn, nil
}

// Skew is how far the database's clock is ahead of ours, and how long the
// question took, by which the answer may be wrong. SQLite has no clock of its own.
func (s *Store) Skew(ctx context.Context) (ahead, within time.Duration, err error) {
	if !s.postgres {
		return 0, 0, nil
	}
	var theirs time.Time
	before := s.now()
	if err := s.db.WithContext(ctx).Raw("SELECT clock_timestamp()").Scan(&theirs).Error; err != nil {
		return 0, 0, fmt.Errorf("ask the database for the time: %w", err)
	}
	within = s.now().Sub(before)
	return theirs.Sub(before.Add(within / 2)), within, nil
}
