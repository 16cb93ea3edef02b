package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// mode contains the statements that begin a transaction.
type mode struct{ postgres, sqlite string }

var (
	readWrite = mode{"BEGIN", "BEGIN IMMEDIATE"}
	// readOnly provides a single snapshot for all queries.
	readOnly = mode{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN"}
)

// transaction is a transaction on its own connection, which it acquires for its first statement. It sends its batch
// when send is called, before each GORM statement, and with the commit. On PostgreSQL, a transaction that only adds
// statements to the batch takes a single round trip.
type transaction struct {
	batch

	ctx    context.Context //nolint:containedctx // valid for the duration of the transaction
	engine *engine
	mode   mode
	// reservedIn is the usage period in which the sent envelope was reserved, or "" if it was not reserved.
	reservedIn string
	bulk       bool // whether a bulk send sends the envelope

	conn        *sql.Conn // nil until the first statement is sent
	release     func()    // releases the write lock
	failed      error     // error of a step, which prevents the commit
	committed   bool
	afterCommit []func()
}

// transact runs fn in a transaction, and commits if fn returns nil. If the engine has joined a transaction, fn is a
// step of that transaction and is committed with it.
func (s *engine) transact(ctx context.Context, m mode, fn func(*transaction) error) error {
	if s.transaction != nil {
		return s.transaction.step(m, fn)
	}
	t := &transaction{ctx: ctx, engine: s, mode: m}
	if err := t.run(ctx, fn); err != nil {
		return err
	}
	for _, done := range t.afterCommit {
		done()
	}
	return nil
}

// inTransaction is like transact, but also returns a value.
func inTransaction[T any](ctx context.Context, s *engine, fn func(*transaction) (T, error)) (T, error) {
	var out, none T
	err := s.transact(ctx, readWrite, func(t *transaction) (err error) {
		out, err = fn(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// tx runs fn in a transaction that uses GORM.
func (s *engine) tx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.transact(ctx, readWrite, func(t *transaction) error { return fn(t.gorm()) })
}

// read runs fn on a single snapshot of the database, so that everything it reads is consistent.
func (s *engine) read(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.transact(ctx, readOnly, func(t *transaction) error { return fn(t.gorm()) })
}

func (s *engine) withTransaction(t *transaction) *engine {
	e := *s
	e.db, e.replica, e.transaction = t.gorm(), nil, t
	return &e
}

// step runs fn as part of the transaction. If fn fails, the transaction cannot be committed: PostgreSQL has aborted
// it, or its batch contains some of fn's writes.
func (t *transaction) step(m mode, fn func(*transaction) error) error {
	err := fn(t)
	if err == nil && m == readOnly {
		err = t.send() // fills the results of the queries that fn added
	}
	if t.failed == nil {
		t.failed = err
	}
	return err
}

func (t *transaction) run(ctx context.Context, fn func(*transaction) error) (err error) {
	defer func() { err = errors.Join(err, t.close(ctx)) }()
	begin := t.mode.postgres
	if !t.engine.postgres {
		begin, t.page = t.mode.sqlite, insertPageSQLite
	}
	t.exec(begin)
	if err := fn(t); err != nil {
		return err
	}
	if t.failed != nil {
		return t.failed
	}
	if t.conn == nil && len(t.statements) == 1 { // no statement has been sent
		return nil
	}
	t.exec("COMMIT")
	if err := t.send(); err != nil {
		return err
	}
	t.committed = true
	return nil
}

// open acquires a connection. For writes on SQLite, it first acquires the write lock.
func (t *transaction) open() error {
	if t.mode == readWrite {
		release, err := acquireWrite(t.ctx, t.engine.writers)
		if err != nil {
			return err
		}
		t.release = release
	}
	db, err := t.engine.db.DB()
	if err == nil {
		t.conn, err = db.Conn(t.ctx)
	}
	return err
}

// close rolls back uncommitted changes, and releases the connection and the write lock.
func (t *transaction) close(ctx context.Context) (err error) {
	if t.conn != nil {
		if !t.committed {
			t.rollback(ctx)
		}
		err = t.conn.Close()
	}
	if t.release != nil {
		t.release()
	}
	return err
}

// rollbackLimit is the timeout of a ROLLBACK.
const rollbackLimit = 5 * time.Second

// rollback rolls back the transaction. If that fails, it closes the connection, which also ends the transaction.
func (t *transaction) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if _, err := t.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn }) // discards the connection
	}
}

// send sends the batch and reads the results.
func (t *transaction) send() error {
	if t.conn == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	statements := t.statements
	t.statements = nil
	if len(statements) == 0 {
		return nil
	}
	if t.engine.postgres {
		return t.conn.Raw(func(raw any) error {
			c, ok := raw.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("unexpected connection type %T", raw)
			}
			return sendBatch(t.ctx, c.Conn(), statements)
		})
	}
	for _, st := range statements {
		if err := t.sendOne(st); err != nil {
			return err
		}
	}
	return nil
}

// sendOne executes a single statement on SQLite.
func (t *transaction) sendOne(st statement) error {
	if st.read != nil {
		rows, err := t.conn.QueryContext(t.ctx, st.sql, st.args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // rows.Err returns the error
		for rows.Next() {
			if err := st.read(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	res, err := t.conn.ExecContext(t.ctx, st.sql, st.args...)
	if err != nil || !st.one {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errLostUpdate, err)
	}
	return nil
}

// gorm returns a GORM session that runs in the transaction. Its statements are executed after the statements in the
// batch.
func (t *transaction) gorm() *gorm.DB {
	tx := t.engine.db.Session(&gorm.Session{NewDB: true, Context: t.ctx})
	tx.Statement.ConnPool = gormConn{t}
	return tx
}

// gormConn is the connection that GORM uses within a transaction. It sends the batch before each statement.
type gormConn struct{ t *transaction }

// PrepareContext implements gorm.ConnPool.
func (c gormConn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := c.t.send(); err != nil {
		return nil, err
	}
	return c.t.conn.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (c gormConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := c.t.send(); err != nil {
		return nil, err
	}
	return c.t.conn.ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (c gormConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.t.send(); err != nil {
		return nil, err
	}
	return c.t.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool. If sending the batch fails, it returns the error through the context,
// because it cannot set the error of an sql.Row.
func (c gormConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := c.t.send(); err != nil {
		c.t.failed = err
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		ctx = canceled
	}
	return c.t.conn.QueryRowContext(ctx, query, args...)
}
