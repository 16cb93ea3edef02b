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

// mode is what a transaction is for.
type mode struct{ postgres, sqlite string }

var (
	readWrite = mode{"BEGIN", "BEGIN IMMEDIATE"}
	// readOnly is one snapshot for all queries.
	readOnly = mode{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN"}
)

// transaction is a transaction on its own connection. Its batch is sent with the next call of send, or with the
// commit: a transaction that only adds to it takes one round trip on PostgreSQL.
type transaction struct {
	batch

	ctx      context.Context //nolint:containedctx // it lives as long as the transaction
	db       *gorm.DB
	conn     *sql.Conn
	postgres bool
	result   any // its result, for the response that is stored with it
	// reservedIn is the usage period in which the envelope that is sent was reserved; "": in none.
	reservedIn string
	bulk       bool // the envelope is sent by a bulk send
	begun      bool
	ended      bool
}

// transact runs fn in one transaction, and commits if it returns nil. A request
// that is being answered is noted in it, see markKeyCommitted.
func (s *engine) transact(ctx context.Context, m mode, fn func(*transaction) error) (err error) {
	db, err := s.db.DB()
	if err != nil {
		return err
	}
	if m == readWrite {
		release, err := acquireWrite(ctx, s.writers)
		if err != nil {
			return err
		}
		defer release()
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	t := &transaction{ctx: ctx, db: s.db, conn: conn, postgres: s.postgres}
	begin := m.postgres
	if !s.postgres {
		begin, t.page = m.sqlite, insertPageSQLite
	}
	defer func() {
		if t.begun && !t.ended {
			t.rollback(ctx)
		}
		err = errors.Join(err, conn.Close())
	}()
	t.exec(begin)
	if err := fn(t); err != nil {
		return err
	}
	if m == readWrite {
		if err := s.markKeyCommitted(t); err != nil {
			return err
		}
	}
	t.exec("COMMIT")
	if err := t.send(); err != nil {
		return err
	}
	t.ended = true
	return nil
}

// rollbackLimit bounds the wait for an answer to ROLLBACK.
const rollbackLimit = 5 * time.Second

// rollback ends the transaction; a connection that cannot say that it did is
// closed, which ends it as well.
func (t *transaction) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if _, err := t.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn }) // drops the connection; there is nothing else to do
	}
}

// gorm sends the batch and returns a GORM session in the transaction.
func (t *transaction) gorm() (*gorm.DB, error) {
	if err := t.send(); err != nil {
		return nil, err
	}
	tx := t.db.Session(&gorm.Session{NewDB: true, Context: t.ctx})
	tx.Statement.ConnPool = t.conn
	return tx, nil
}

// send sends the batch and reads the results.
func (t *transaction) send() error {
	statements := t.statements
	t.statements = nil
	t.begun = true
	if t.postgres {
		return t.conn.Raw(func(raw any) error {
			c, ok := raw.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("connection is a %T", raw)
			}
			return sendTogether(t.ctx, c.Conn(), statements)
		})
	}
	for _, st := range statements {
		if err := t.run(st); err != nil {
			return err
		}
	}
	return nil
}

// outsideRequest returns the engine for a transaction that is not the effect of the request: it does not mark the
// idempotency key as committed.
func (s *engine) outsideRequest() *engine {
	e := *s
	e.execution = execution{}
	return &e
}

// run runs one statement on SQLite.
func (t *transaction) run(st statement) error {
	if st.read != nil {
		rows, err := t.conn.QueryContext(t.ctx, st.sql, st.args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // rows.Err returns its error
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

// tx runs fn in one transaction.
func (s *engine) tx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.make(ctx, nil, fn)
}

// make is tx for a request whose stored response is created from result, which fn fills in; see ForKey.
func (s *engine) make(ctx context.Context, result any, fn func(tx *gorm.DB) error) error {
	return s.session(ctx, readWrite, func(t *transaction, tx *gorm.DB) error {
		t.result = result
		return fn(tx)
	})
}

// read runs fn on one snapshot of the database, so that everything it reads is consistent.
func (s *engine) read(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.session(ctx, readOnly, func(_ *transaction, tx *gorm.DB) error { return fn(tx) })
}

// session runs fn in one transaction. fn may add to its batch what is sent with the commit.
func (s *engine) session(ctx context.Context, m mode, fn func(t *transaction, tx *gorm.DB) error) error {
	return s.transact(ctx, m, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		return fn(t, tx)
	})
}
