package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Crash stops the server like "pg_ctl stop -m immediate": immediately, without a checkpoint and without notifying its
// clients. Its data remains for Restart.
func (s *PostgresServer) Crash(ctx context.Context) error {
	if err := os.WriteFile(s.down(), nil, 0o600); err != nil {
		return fmt.Errorf("crash PostgreSQL: %w", err)
	}
	pid, err := s.pid()
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGQUIT)
	}
	if err != nil {
		return fmt.Errorf("crash PostgreSQL: %w", err)
	}
	return pollUntil(ctx, s.ended, func() error {
		if syscall.Kill(pid, 0) == nil {
			return errors.New("the server is still running")
		}
		return nil
	})
}

// Restart restarts a crashed server with the same port and data. It returns when the server responds.
func (s *PostgresServer) Restart(ctx context.Context) error {
	if err := os.Remove(s.down()); err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	return s.waitReady(ctx)
}

func (s *PostgresServer) down() string { return filepath.Join(s.dir, "down") }
