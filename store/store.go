// Package store makes the changes of envelopes durable and finds what was
// stored. Change is the one way to change an envelope: the changed rows, the
// next links of the audit chain, the webhook events with their deliveries and
// the outbox rows are written in one transaction.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/crypto/bcrypt"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"countersign/internal/vault"
	"countersign/models"
	"countersign/store/blob"
)

// Config is what a Store needs.
type Config struct {
	// URL is postgres://user@host/database?… or sqlite://path/to/file.
	URL string
	// ReadURL is postgres:// of a standby, from which lists are read; empty: from the database itself.
	ReadURL string
	// BaseURL is the service's public address, for the links in webhook bodies.
	BaseURL string
	// MaxConns bounds the connections to PostgreSQL; 0 means 20.
	MaxConns int
	// PasswordCost is bcrypt's for new passwords and client secrets; 0 means its default. Tests need not be slow.
	PasswordCost int
	// LeakedPasswords names a file of passwords that no console user may choose, see password.Leaked; empty: none.
	LeakedPasswords string
	// Plans are the limits of the apps' plans; the zero value is models.DefaultPlans.
	Plans models.Plans
	// History is how long events, deliveries and the records of mails are kept; 0: 90 days.
	History time.Duration
	Vault   *vault.Vault
	Now     func() time.Time
	NewID   func() uuid.UUID
}

// Store is safe for concurrent use.
type Store struct {
	db       *gorm.DB
	replica  *replica // nil: none
	primary  *Store   // of a store that reads from the replica: the one that writes; else nil
	postgres bool
	writers  *writeQueue // of SQLite; nil: the database has them wait
	baseURL  string
	vault    *vault.Vault
	index    *vault.Index // of addresses
	now      func() time.Time
	newID    func() uuid.UUID
	cost     int // bcrypt's for passwords and client secrets
	leaked   string
	plans    models.Plans
	history  time.Duration
	archives blob.Store // nil: what is in archives cannot be read
	wake     chan struct{}
	// execution is the request that the transactions are part of, see ForKey.
	execution execution
}

// Open connects to the database. It does not migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("database URL cannot be read") // not the parse error: it repeats the password
	}
	s := &Store{
		baseURL: cfg.BaseURL, vault: cfg.Vault, newID: cfg.NewID, wake: make(chan struct{}, 1), cost: cmp.Or(cfg.PasswordCost, bcrypt.DefaultCost), leaked: cfg.LeakedPasswords,
		plans: cmp.Or(cfg.Plans, models.DefaultPlans()), history: cmp.Or(cfg.History, 90*24*time.Hour),
		now: func() time.Time { return cfg.Now().UTC().Truncate(time.Microsecond) },
	}
	if s.index, err = cfg.Vault.Index("addresses"); err != nil {
		return nil, err
	}
	gc := &gorm.Config{
		SkipDefaultTransaction: true, PrepareStmt: true, TranslateError: true, NowFunc: s.now,
		Logger: logger.NewSlogLogger(slog.Default(), logger.Config{
			SlowThreshold: time.Second, LogLevel: logger.Warn, IgnoreRecordNotFoundError: true, ParameterizedQueries: true,
		}),
	}
	switch u.Scheme {
	case "postgres", "postgresql":
		s.postgres = true
		if cfg.ReadURL != "" {
			if s.replica, err = openReplica(cfg, *gc); err != nil {
				return nil, err
			}
		}
		s.db, err = openPostgres(cfg, gc)
	case "sqlite":
		s.writers = newWriteQueue()
		s.db, err = openSQLite(cfg, gc, s.writers)
	default:
		err = fmt.Errorf("database URL: unknown scheme %q; use postgres:// or sqlite://", u.Scheme)
	}
	if err != nil {
		if s.replica != nil {
			err = errors.Join(err, s.replica.close())
		}
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openPostgres(cfg Config, gc *gorm.Config) (*gorm.DB, error) {
	pc, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("database URL cannot be read as a PostgreSQL connection string")
	}
	// PgBouncer in transaction mode keeps no prepared statements: for it the URL names another mode, as cache_describe.
	gc.PrepareStmt = pc.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	types := stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		c.TypeMap().RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}})
		return nil
	})
	conn := stdlib.OpenDB(*pc, types)
	n := cfg.MaxConns
	if n == 0 {
		n = 20
	}
	conn.SetMaxOpenConns(n)
	conn.SetMaxIdleConns(n)
	conn.SetConnMaxIdleTime(5 * time.Minute)
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), gc)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open PostgreSQL: %w", err), conn.Close())
	}
	return db, nil
}

// Close ends all connections.
func (s *Store) Close() error {
	var ofReplica error
	if s.replica != nil {
		ofReplica = s.replica.close()
	}
	conn, err := s.db.DB()
	if err == nil {
		err = conn.Close()
	}
	return wrap(errors.Join(err, ofReplica), "close database")
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	conn, err := s.db.DB()
	if err == nil {
		err = conn.PingContext(ctx)
	}
	return wrap(err, "database does not answer")
}

// Wake is signalled after each commit that wrote outbox rows in this process.
func (s *Store) Wake() <-chan struct{} { return s.wake }

func (s *Store) signalWake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tx runs fn in one transaction.
func (s *Store) tx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.make(ctx, nil, fn)
}

// make is tx for a request whose stored response is made of result, which fn fills in; see ForKey.
func (s *Store) make(ctx context.Context, result any, fn func(tx *gorm.DB) error) error {
	return s.session(ctx, readWrite, func(t *transaction, tx *gorm.DB) error {
		t.result = result
		return fn(tx)
	})
}

// read runs fn on one snapshot of the database: what it reads belongs together.
func (s *Store) read(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.session(ctx, readOnly, func(_ *transaction, tx *gorm.DB) error { return fn(tx) })
}

// session runs fn in one transaction, to whose batch it may add what is sent with the commit.
func (s *Store) session(ctx context.Context, m mode, fn func(t *transaction, tx *gorm.DB) error) error {
	return s.transact(ctx, m, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		return fn(t, tx)
	})
}
