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

// engine is shared by the repositories. It provides the database, transactions, encryption, the clock and ID
// generation.
type engine struct {
	cfg          Config // with defaults applied
	db           *gorm.DB
	replica      *replica // nil if there is no replica
	primary      *engine  // the writing engine, if this engine reads from the replica; otherwise nil
	postgres     bool
	writers      *limit.Limit // lets SQLite writers take turns; nil on PostgreSQL
	vault        *vault.Vault
	index        *vault.Index // blind index of addresses
	registry     *registry
	now          func() time.Time
	newID        func() uuid.UUID
	archiveFiles blob.Store // nil if archives cannot be read
	wake         chan struct{}
	transaction  *transaction // the transaction that all transactions join; nil if there is none
}

func openPostgres(cfg Config, gc *gorm.Config) (*gorm.DB, error) {
	pc, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("database URL cannot be read as a PostgreSQL connection string")
	}
	// PgBouncer in transaction mode does not preserve prepared statements between transactions. With PgBouncer, the URL
	// must specify another mode, such as cache_describe.
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

// Close closes all connections.
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

// Ping returns an error unless the database is responding.
func (s *engine) Ping(ctx context.Context) error {
	conn, err := s.db.DB()
	if err == nil {
		err = conn.PingContext(ctx)
	}
	return wrap(err, "database does not respond")
}

// Wake returns a channel that receives a value after each commit in this process that wrote outbox rows.
func (s *engine) Wake() <-chan struct{} { return s.wake }

func (s *engine) signalWake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Config configures a Store.
type Config struct {
	// URL has the form postgres://user@host/database?… or sqlite://path/to/file.
	URL string
	// ReadURL is the postgres:// URL of a standby from which lists are read. If it is empty, they are read from the
	// primary database.
	ReadURL string
	// BaseURL is the public address of the service, used for links in webhook bodies.
	BaseURL string
	// MaxConns is the maximum number of connections to PostgreSQL. Zero means 20.
	MaxConns int
	// PasswordCost is the bcrypt cost for new passwords and client secrets. Zero means bcrypt's default. Tests use a
	// low cost.
	PasswordCost int
	// LeakedPasswords is the name of a file with passwords that console users cannot choose (see password.Leaked). If
	// it is empty, all other valid passwords are accepted.
	LeakedPasswords string
	// Plans contains the limits of the plans. The zero value means models.DefaultPlans.
	Plans models.Plans
	// History is the retention period of events, deliveries and email records. Zero means 90 days.
	History time.Duration
	Vault   *vault.Vault
	Now     func() time.Time
	NewID   func() uuid.UUID
}
