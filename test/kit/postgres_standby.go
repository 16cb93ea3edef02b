package kit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// StartStandby starts a standby of the server. A standby is a separate server that replays the writes of the primary
// and answers queries at the same time (hot standby).
func (s *PostgresServer) StartStandby(ctx context.Context, opts PostgresOptions) (*PostgresServer, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	primary, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the primary's address is not a URL")
	}
	dir, err := os.MkdirTemp(dataParent(opts), "countersign-postgres-")
	if err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	copying := exec.CommandContext(ctx, filepath.Join(bin, "pg_basebackup"), //nolint:gosec // an installed program
		"--dbname", s.URL, "--pgdata", filepath.Join(dir, "data"), "--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast", "--no-sync")
	copying.Dir = dir
	copying.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if err := handOver(dir, credential); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if out, err := copying.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("pg_basebackup: %w: %s", err, lastLine(out)), os.RemoveAll(dir))
	}
	password, _ := primary.User.Password()
	standby, err := launchOnFreePort(ctx, dir, bin, password, credential, opts)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return standby, nil
}

// Exec runs a statement as the superuser on a new connection.
func (s *PostgresServer) Exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
