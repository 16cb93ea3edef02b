package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batch is a list of statements that are sent together. On PostgreSQL they take a single round trip. On SQLite, where a
// statement is a function call, they are executed one after the other. Parameters are written as $1, $2, …, which both
// databases accept.
type batch struct {
	statements []statement
	page       int // rows per INSERT; 0 for insertPage
}

type statement struct {
	sql  string
	args []any
	one  bool            // whether the statement must change exactly one row
	read func(row) error // called for each row of the result
}

// row is a row of a query result, either pgx.Rows or *sql.Rows.
type row interface{ Scan(dest ...any) error }

// exec adds a statement that can change any number of rows.
func (b *batch) exec(query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args})
}

// execOne adds a statement that must change exactly one row. Otherwise the batch fails with errLostUpdate.
func (b *batch) execOne(query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args, one: true})
}

// query adds a query. When the batch is sent, read is called for each row of the result.
func (b *batch) query(read func(row) error, query string, args ...any) {
	b.statements = append(b.statements, statement{sql: query, args: args, read: read})
}

// errLostUpdate means that a statement did not change exactly one row, because another transaction had changed the
// envelope without holding its lock. The transaction of the statement is rolled back.
var errLostUpdate = errors.New("store: the envelope was changed without holding its lock")

// requireOneRow makes a statement fail in the database unless it changes exactly one row. The statement and the commit
// are sent together, so this process learns the number of changed rows only after the commit. The SQL function
// require_one_row is part of the schema, and fails with lostUpdateCode.
const (
	requireOneRow  = "WITH changed AS (%s RETURNING 1) SELECT require_one_row(count(*)) FROM changed"
	lostUpdateCode = "U0001"
)

// sendBatch sends statements to PostgreSQL in a single round trip.
func sendBatch(ctx context.Context, c *pgx.Conn, statements []statement) error {
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
			rows.Close()
			if st.sql == "COMMIT" && rows.CommandTag().String() == "ROLLBACK" { // an earlier statement failed
				return pgx.ErrTxCommitRollback
			}
			return rows.Err()
		})
	}
	err := c.SendBatch(ctx, &b).Close()
	if rejected, ok := errors.AsType[*pgconn.PgError](err); ok && rejected.Code == lostUpdateCode {
		return errLostUpdate
	}
	return err
}

// insertPage is the number of rows per INSERT. It is lower for SQLite, because batching saves no round trips there, and
// the driver's run time is quadratic in the number of parameters.
const (
	insertPage       = 100
	insertPageSQLite = 4
)

// insert adds the insertion of rows, which must all have the same columns. For rows that already exist, the SQL clause
// in conflict applies. If conflict is empty, an existing row is an error.
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

// insertIf adds an INSERT that takes effect only if a condition holds. The database evaluates the condition, whose
// parameters are written as ?.
func (b *batch) insertIf(table string, columns []column, condition string, args ...any) {
	all := make([]any, 0, len(columns)+len(args))
	for _, c := range columns {
		all = append(all, c.arg())
	}
	for i := range args {
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(columns)+i+1), 1)
	}
	b.exec("INSERT INTO "+table+" ("+strings.Join(namesOf(columns), ", ")+") SELECT "+placeholders(0, len(columns))+" WHERE "+condition, append(all, args...)...)
}

// update adds an update of the single row that matches all columns in key.
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
