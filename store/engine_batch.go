package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// A batch is a list of statements that are sent together: on PostgreSQL in one
// round trip, on SQLite, where a statement is a function call, one after the
// other. Their parameters are $1, $2, …, which both databases understand.
type batch struct {
	statements []statement
	page       int // rows of one INSERT; 0: insertPage
}

type statement struct {
	sql  string
	args []any
	one  bool            // it must change exactly one row
	read func(row) error // called for each row of the result
}

// row is a row of a result: pgx.Rows or *sql.Rows.
type row interface{ Scan(dest ...any) error }

// exec adds a statement that may change any number of rows.
func (b *batch) exec(query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args})
}

// execOne adds a statement that must change exactly one row. If it does not,
// the batch fails with errLostUpdate.
func (b *batch) execOne(query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args, one: true})
}

// query adds a query whose rows are given to read when the batch is sent.
func (b *batch) query(read func(row) error, query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args, read: read})
}

// errLostUpdate says that a row was changed by a transaction that did not hold the
// envelope's lock. The transaction is undone.
var errLostUpdate = errors.New("store: the envelope was changed without its lock")

// mode is what a transaction is for.
type mode struct{ postgres, sqlite string }

var (
	readWrite = mode{"BEGIN", "BEGIN IMMEDIATE"}
	// readOnly is one snapshot for all queries.
	readOnly = mode{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN"}
)

// transaction is one transaction on a connection of its own. Its batch is what
// will be sent with the next call of send, or with the commit: a transaction that
// only adds to it takes one round trip on PostgreSQL.
type transaction struct {
	batch

	ctx      context.Context //nolint:containedctx // it lives as long as the transaction
	db       *gorm.DB
	conn     *sql.Conn
	postgres bool
	result   any // what it makes, for the response that is stored with it
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
		if err := s.writers.acquire(ctx); err != nil {
			return err
		}
		defer s.writers.release()
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

// gorm sends what was added to the batch and returns a GORM session in the
// transaction.
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

// requireOneRow fails in the database, and so before the commit that is sent
// with it: the number of changed rows is known here only after the commit. The
// function is in the schema, and its error has lostUpdateCode.
const (
	requireOneRow  = "WITH changed AS (%s RETURNING 1) SELECT require_one_row(count(*)) FROM changed"
	lostUpdateCode = "U0001"
)

// sendTogether sends statements to PostgreSQL in one round trip.
func sendTogether(ctx context.Context, c *pgx.Conn, statements []statement) error {
	var b pgx.Batch
	for _, st := range statements {
		query := st.sql
		if st.one {
			query = fmt.Sprintf(requireOneRow, query)
		}
		b.Queue(query, st.args...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				if st.read == nil {
					continue
				}
				if err := st.read(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	err := c.SendBatch(ctx, &b).Close()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == lostUpdateCode {
		return errLostUpdate
	}
	return err
}

// run runs one statement on SQLite.
func (t *transaction) run(st statement) error {
	if st.read != nil {
		rows, err := t.conn.QueryContext(t.ctx, st.sql, st.args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // its error is that of rows.Err
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

// column is a column of a row, and the place of its value in the model: a
// pointer, where a SELECT puts the value and from where a statement takes it.
type column struct {
	name  string
	value any
}

// arg is the value itself, for a statement.
func (c column) arg() any {
	if v, ok := c.value.(inJSON); ok {
		return v
	}
	return reflect.ValueOf(c.value).Elem().Interface()
}

// insertPage is how many rows go into one INSERT. SQLite saves no round trips, and its driver takes time that grows with the
// square of the parameters.
const (
	insertPage       = 100
	insertPageSQLite = 4
)

// insert adds the insertion of rows, which all have the same columns. conflict
// is the clause for a row that exists already; "": that is an error.
func (b *batch) insert(table, conflict string, rows ...[]column) {
	for len(rows) > 0 {
		page := rows[:min(len(rows), cmp.Or(b.page, insertPage))]
		rows = rows[len(page):]
		var args []any
		values := make([]string, 0, len(page))
		for _, columns := range page {
			values = append(values, "("+placeholders(len(args), len(columns))+")")
			for _, c := range columns {
				args = append(args, c.arg())
			}
		}
		b.exec("INSERT INTO "+table+" ("+strings.Join(namesOf(page[0]), ", ")+") VALUES "+strings.Join(values, ", ")+" "+conflict, args...)
	}
}

// update adds the update of exactly one row, found by all of key.
func (b *batch) update(table string, key, columns []column) {
	args := make([]any, 0, len(columns)+len(key))
	assign := func(columns []column) []string {
		out := make([]string, 0, len(columns))
		for _, c := range columns {
			args = append(args, c.arg())
			out = append(out, c.name+" = $"+strconv.Itoa(len(args)))
		}
		return out
	}
	set := strings.Join(assign(columns), ", ")
	b.execOne("UPDATE "+table+" SET "+set+" WHERE "+strings.Join(assign(key), " AND "), args...)
}

// selection is how rows of a table are read.
type selection[T any] struct {
	columns func(*T) []column
	query   string // up to its condition
}

func selectionOf[T any](table string, columns func(*T) []column) selection[T] {
	return selection[T]{columns, "SELECT " + strings.Join(namesOf(columns(new(T))), ", ") + " FROM " + table + " WHERE "}
}

// selectRows adds a query whose rows are appended to out.
func selectRows[T any](b *batch, out *[]*T, from selection[T], where string, args ...any) {
	b.query(func(r row) error {
		v := new(T)
		*out = append(*out, v)
		return r.Scan(mapSlice(from.columns(v), func(c column) any { return c.value })...)
	}, from.query+where, args...)
}

func namesOf(columns []column) []string {
	return mapSlice(columns, func(c column) string { return c.name })
}

// placeholders are n parameters, the first of which is number after+1.
func placeholders(after, n int) string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, "$"+strconv.Itoa(after+i+1))
	}
	return strings.Join(out, ", ")
}
