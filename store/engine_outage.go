package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// transientStates lists the PostgreSQL SQLSTATE codes and code classes of temporary errors.
var transientStates = []string{
	"08",    // connection exception
	"40",    // transaction rollback: serialization failure, deadlock
	"53",    // insufficient resources: disk, memory, connections
	"57",    // operator intervention: shutdown, recovery, timeout
	"25006", // read-only transaction: another server was promoted to primary
	"55P03", // lock not available
	"58030", // input or output error of the server
}

// Unavailable reports whether an error is temporary: the database or the file store is full or does not respond, so a
// retry may succeed.
func Unavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return len(pg.Code) == 5 && (slices.Contains(transientStates, pg.Code[:2]) || slices.Contains(transientStates, pg.Code))
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains([]int{sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_READONLY}, lite.Code()&0xff)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return true
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS,
	}, func(passing error) bool { return errors.Is(err, passing) })
}
