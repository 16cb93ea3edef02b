package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"countersign/internal/limit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store/blob"
)

// engine is shared by the repositories: the database, transactions with their batches, encryption, the clock and ids.
type engine struct {
	cfg          Config // with its defaults
	db           *gorm.DB
	replica      *replica // nil: no replica
	primary      *engine  // of an engine that reads from the replica: the one that writes; else nil
	postgres     bool
	writers      *limit.Limit // of SQLite; nil: the database queues writers
	vault        *vault.Vault
	index        *vault.Index // of addresses
	registry     *registry
	now          func() time.Time
	newID        func() uuid.UUID
	archiveFiles blob.Store // nil: archives cannot be read
	wake         chan struct{}
	joined       *transaction // every transaction is a step of it; nil: each is its own
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
func (s *engine) Close() error {
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

// Ping reports whether the database responds.
func (s *engine) Ping(ctx context.Context) error {
	conn, err := s.db.DB()
	if err == nil {
		err = conn.PingContext(ctx)
	}
	return wrap(err, "database does not respond")
}

// Wake is signalled after each commit that wrote outbox rows in this process.
func (s *engine) Wake() <-chan struct{} { return s.wake }

func (s *engine) signalWake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Config configures a Store.
type Config struct {
	// URL is postgres://user@host/database?… or sqlite://path/to/file.
	URL string
	// ReadURL is postgres:// of a standby, from which lists are read; empty: from the database itself.
	ReadURL string
	// BaseURL is the service's public address, for the links in webhook bodies.
	BaseURL string
	// MaxConns limits the connections to PostgreSQL; 0 means 20.
	MaxConns int
	// PasswordCost is bcrypt's for new passwords and client secrets; 0 means its default. Tests need not be slow.
	PasswordCost int
	// LeakedPasswords is the name of a file of passwords that console users cannot choose, see password.Leaked; empty:
	// none.
	LeakedPasswords string
	// Plans are the limits of the apps' plans; the zero value is models.DefaultPlans.
	Plans models.Plans
	// History is the retention of events, deliveries and email records; 0: 90 days.
	History time.Duration
	Vault   *vault.Vault
	Now     func() time.Time
	NewID   func() uuid.UUID
}
