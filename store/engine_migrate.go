package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the files that Migrate runs: migrations/postgres/*.sql and migrations/sqlite/*.sql.
func Migrations() fs.FS { return migrations }

func (s *engine) migrate(ctx context.Context) (int64, error) {
	p, err := s.migrations()
	if err != nil {
		return 0, err
	}
	for {
		before, err := p.GetDBVersion(ctx)
		if err == nil {
			_, err = p.Up(ctx)
		}
		if err != nil && (s.postgres || !migratedConcurrently(ctx, p, before)) {
			return 0, fmt.Errorf("migrate database: %w", err)
		}
		if err == nil {
			return p.GetDBVersion(ctx)
		}
	}
}

// migratedConcurrently reports whether another process has migrated an SQLite database past the given version. SQLite
// migrations use no lock. If two processes run the same migration, the transaction of the second one fails.
func migratedConcurrently(ctx context.Context, p *goose.Provider, before int64) bool {
	const limit, interval = 2 * time.Second, 20 * time.Millisecond // the other process may be about to commit
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if now, err := p.GetDBVersion(ctx); err == nil && now > before {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// Migrated returns an error unless the database schema has the version that this program requires.
func (s *engine) Migrated(ctx context.Context) error {
	p, err := s.migrations()
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	if err != nil {
		return fmt.Errorf("read database version: %w", err)
	}
	if pending {
		return fmt.Errorf("the database is not up to date: run `countersign migrate` first")
	}
	return nil
}

func (s *engine) migrations() (*goose.Provider, error) {
	dialect, dir := goose.DialectSQLite3, "migrations/sqlite"
	var opts []goose.ProviderOption
	if s.postgres {
		dialect, dir = goose.DialectPostgres, "migrations/postgres"
		// Use a row as the lock rather than a session's advisory lock, because PgBouncer in transaction mode changes
		// sessions between transactions.
		locker, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(time.Second, 300))
		if err != nil {
			return nil, fmt.Errorf("migrate database: %w", err)
		}
		opts = append(opts, goose.WithLocker(locker))
	}
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	conn, err := s.db.DB()
	if err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	return goose.NewProvider(dialect, conn, files, opts...)
}
