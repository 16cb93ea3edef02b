package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"

	"countersign/models"
	"countersign/store"
)

// TestUnavailable_DistinguishesTemporaryErrors checks that temporary errors are distinguished from permanent ones.
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
