package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// How a transaction on PostgreSQL begins.
const (
	beginChange = "BEGIN"
	beginRead   = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" // one snapshot for all queries
)

// pipe is a transaction on PostgreSQL in few round trips. As the connection of
// a GORM session it keeps the statements that only write, and sends them
// together with the next query or with the commit. So an error shows later than
// its statement, but never later than the commit, which it prevents.
type pipe struct {
	conn    *sql.Conn
	waiting pgx.Batch
	begun   bool
	ended   bool
}

// piped runs fn in one transaction, with a session whose connection is a pipe.
func (s *Store) piped(ctx context.Context, begin string, fn func(*gorm.DB) error) (err error) {
	db, err := s.db.DB()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	p := &pipe{conn: conn}
	defer func() {
		if p.begun && !p.ended {
			p.rollback(ctx)
		}
		err = errors.Join(err, conn.Close())
	}()
	p.waiting.Queue(begin)
	tx := s.db.Session(&gorm.Session{NewDB: true, Context: ctx})
	tx.Statement.ConnPool = p
	if err := fn(tx); err != nil {
		return err
	}
	if begin == beginChange {
		if err := s.noteRequest(ctx, tx); err != nil {
			return err
		}
	}
	return p.end(ctx)
}

// end commits, together with what waits and the queries.
func (p *pipe) end(ctx context.Context, queries ...query) error {
	if p.ended {
		return nil
	}
	if err := p.send(ctx, append(queries, query{sql: "COMMIT", read: func(pgx.Rows) error { return nil }})...); err != nil {
		return err
	}
	p.ended = true
	return nil
}

// rollbackLimit bounds the wait for an answer to ROLLBACK.
const rollbackLimit = 5 * time.Second

// rollback ends the transaction; a connection that cannot say that it did is
// closed, which ends it as well.
func (p *pipe) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if _, err := p.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = p.conn.Raw(func(any) error { return driver.ErrBadConn }) // drops the connection; there is nothing else to do
	}
}

// query is a query with the reader of its rows.
type query struct {
	sql  string
	args []any
	read func(pgx.Rows) error
}

// send sends what waits and then the queries, all at once.
func (p *pipe) send(ctx context.Context, queries ...query) error {
	writes := p.waiting.Len()
	for _, q := range queries {
		p.waiting.Queue(q.sql, q.args...)
	}
	batch := p.waiting
	p.waiting = pgx.Batch{}
	if batch.Len() == 0 {
		return nil
	}
	p.begun = true
	return p.conn.Raw(func(raw any) (err error) {
		c, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("connection is a %T", raw)
		}
		results := c.Conn().SendBatch(ctx, &batch)
		defer func() {
			if closing := results.Close(); err == nil {
				err = closing
			}
		}()
		for range writes {
			if _, err := results.Exec(); err != nil {
				return missed(err)
			}
		}
		for _, q := range queries {
			rows, err := results.Query()
			if err != nil {
				return err
			}
			err = q.read(rows)
			rows.Close()
			if err = errors.Join(err, rows.Err()); err != nil {
				return err
			}
		}
		return nil
	})
}

// mustChangeOne makes the statement just made fail, in the database and so
// before the commit, unless it changes a row: it divides by their number.
func (p *pipe) mustChangeOne() {
	last := p.waiting.QueuedQueries[p.waiting.Len()-1]
	last.SQL = "WITH changed AS (" + last.SQL + " RETURNING 1) SELECT 1 / count(*) FROM changed"
}

// missed tells the failure of such a statement.
func missed(err error) error {
	const divisionByZero = "22012" // PostgreSQL, appendix A
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == divisionByZero {
		return errLostUpdate
	}
	return err
}

// unsaid is the result of a statement that was not sent yet.
type unsaid struct{}

var errUnsaid = errors.New("store: the statement was not sent yet")

func (unsaid) LastInsertId() (int64, error) { return 0, errUnsaid }
func (unsaid) RowsAffected() (int64, error) { return 0, errUnsaid }

// ExecContext lets a statement wait.
func (p *pipe) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	p.waiting.Queue(query, args...)
	return unsaid{}, nil
}

// QueryContext sends what waits, then asks.
func (p *pipe) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.send(ctx); err != nil {
		return nil, err
	}
	return p.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext sends what waits, then asks.
func (p *pipe) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := p.send(ctx); err != nil {
		var cancel context.CancelCauseFunc // a row that tells of the error
		ctx, cancel = context.WithCancelCause(ctx)
		cancel(err)
	}
	return p.conn.QueryRowContext(ctx, query, args...)
}

// PrepareContext is not needed: the driver remembers statements.
func (p *pipe) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errors.New("store: a pipe prepares nothing")
}

// rowsOf asks for the rows of a model, and reads them as GORM would.
func rowsOf[T any](ctx context.Context, s *Store, out *[]*T, where string, args ...any) (query, error) {
	known, err := schema.Parse(new(T), &s.schemas, s.db.NamingStrategy)
	if err != nil {
		return query{}, err
	}
	fields := make([]*schema.Field, len(known.DBNames))
	for i, name := range known.DBNames {
		fields[i] = known.FieldsByDBName[name]
	}
	read := func(rows pgx.Rows) error {
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			v := new(T)
			at := reflect.ValueOf(v).Elem()
			for i, value := range values {
				if err := set(ctx, fields[i], at, value); err != nil {
					return fmt.Errorf("column %s.%s: %w", known.Table, known.DBNames[i], err)
				}
			}
			*out = append(*out, v)
		}
		return nil
	}
	return query{sql: "SELECT " + strings.Join(known.DBNames, ", ") + " FROM " + known.Table + " WHERE " + where, args: args, read: read}, nil
}

// set gives a field its value; one that is kept as JSON is read from it.
func set(ctx context.Context, f *schema.Field, at reflect.Value, value any) error {
	switch x := value.(type) {
	case nil:
		return nil
	case [16]byte:
		value = x[:]
	case time.Time:
		value = x.UTC()
	}
	if f.Serializer == nil {
		return f.Set(ctx, at, value)
	}
	holder := f.NewValuePool.Get()
	defer f.NewValuePool.Put(holder)
	scanner, ok := holder.(sql.Scanner)
	if !ok {
		return fmt.Errorf("no way to read a %T", holder)
	}
	if err := scanner.Scan(value); err != nil {
		return err
	}
	return f.Set(ctx, at, holder)
}
