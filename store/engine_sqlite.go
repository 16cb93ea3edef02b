package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"countersign/internal/limit"
)

// sqliteConns is the maximum number of connections. One of them can write while the others read.
const sqliteConns = 8

func openSQLite(cfg Config, gc *gorm.Config, writers *limit.Limit) (*gorm.DB, error) {
	path := strings.TrimPrefix(cfg.URL, "sqlite://")
	if path == "" {
		return nil, errors.New("database URL: sqlite:// needs a path")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("database directory: %w", err)
	}
	q := url.Values{}
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)", "synchronous(FULL)"} {
		q.Add("_pragma", p)
	}
	// A transaction acquires the write lock when it begins. It therefore cannot deadlock, and cannot fail because
	// another process has written since it first read.
	q.Set("_txlock", "immediate")
	q.Set("_time_format", "sqlite")
	q.Set("_timezone", "UTC")
	conn, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	conn.SetMaxOpenConns(sqliteConns)
	conn.SetMaxIdleConns(sqliteConns)
	db, err := gorm.Open(dialect{conn}, gc)
	if err == nil {
		err = queueWrites(db, writers)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), conn.Close())
	}
	return db, nil
}

// dialect implements the minimum that GORM requires to read and write rows in SQLite. goose creates the tables.
type dialect struct{ conn *sql.DB }

// Name implements gorm.Dialector.
func (dialect) Name() string { return "sqlite" }

// Initialize implements gorm.Dialector.
func (d dialect) Initialize(db *gorm.DB) error {
	db.ConnPool = d.conn
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		CreateClauses:        []string{"INSERT", "VALUES", "ON CONFLICT", "RETURNING"},
		UpdateClauses:        []string{"UPDATE", "SET", "FROM", "WHERE", "RETURNING"},
		DeleteClauses:        []string{"DELETE", "FROM", "WHERE", "RETURNING"},
		LastInsertIDReversed: true,
	})
	return nil
}

// Migrator implements gorm.Dialector.
func (d dialect) Migrator(db *gorm.DB) gorm.Migrator {
	return migrator.Migrator{Config: migrator.Config{DB: db, Dialector: d}}
}

// DataTypeOf implements gorm.Dialector. Only the creation of tables would need it.
func (dialect) DataTypeOf(*schema.Field) string { return "" }

// DefaultValueOf implements gorm.Dialector.
func (dialect) DefaultValueOf(*schema.Field) clause.Expression { return clause.Expr{SQL: "NULL"} }

// BindVarTo implements gorm.Dialector.
func (dialect) BindVarTo(w clause.Writer, _ *gorm.Statement, _ any) { _ = w.WriteByte('?') }

// QuoteTo implements gorm.Dialector: "table"."column".
func (dialect) QuoteTo(w clause.Writer, name string) {
	for i, part := range strings.Split(name, ".") {
		if i > 0 {
			_ = w.WriteByte('.')
		}
		_, _ = w.WriteString(`"` + strings.ReplaceAll(part, `"`, `""`) + `"`)
	}
}

// Explain implements gorm.Dialector.
func (dialect) Explain(query string, vars ...any) string {
	return logger.ExplainSQL(query, nil, `'`, vars...)
}

// Translate implements gorm.ErrorTranslator.
func (dialect) Translate(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && (e.Code() == sqlitelib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY) {
		return gorm.ErrDuplicatedKey
	}
	return err
}
