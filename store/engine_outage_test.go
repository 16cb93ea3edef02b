package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

func TestUnavailable_DistinguishesTemporaryErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&pgconn.PgError{Code: "57P01"}, &pgconn.PgError{Code: "57P03"}, &pgconn.PgError{Code: "53300"}, &pgconn.PgError{Code: "53100"},
		&pgconn.PgError{Code: "40001"}, &pgconn.PgError{Code: "25006"}, &pgconn.ConnectError{}, driver.ErrBadConn, io.ErrUnexpectedEOF,
		context.DeadlineExceeded, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC},
	} {
		assert.True(t, store.Unavailable(fmt.Errorf("save envelope: %w", err)), "%v", err)
	}
	for _, err := range []error{
		nil, errors.New("a bug"), models.ErrNotFound, fs.ErrNotExist, context.Canceled,
		&pgconn.PgError{Code: "23505"}, &pgconn.PgError{Code: "42P01"}, &pgconn.PgError{Code: "25P02"}, &pgconn.PgError{},
	} {
		assert.False(t, store.Unavailable(err), "%v", err)
	}
}

// TestUnavailable_OfSQLite checks that a temporarily unwritable file is distinguished from an invalid statement.
func TestUnavailable_OfSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (a INTEGER PRIMARY KEY)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO nothing VALUES (1)")
	require.Error(t, err)
	require.False(t, store.Unavailable(err))
	unwritable, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unwritable.Close()) })
	_, err = unwritable.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
	require.Error(t, err)
	require.True(t, store.Unavailable(fmt.Errorf("save envelope: %w", err)), "%v", err)
	locked, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locked.Close()) })
	_, err = locked.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
	require.Error(t, err)
	require.True(t, store.Unavailable(err), "%v", err)
}
