package store

import (
	"database/sql"
	"fmt"
)

// Pool is the pool of connections, for its figures alone.
func (s *Store) Pool() (*sql.DB, error) {
	conn, err := s.db.DB()
	if err != nil {
		return nil, fmt.Errorf("connections of the database: %w", err)
	}
	return conn, nil
}
