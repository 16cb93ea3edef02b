// Package store makes the changes of envelopes durable and finds what was
// stored. Change is the one way to change an envelope: the changed rows, the
// next links of the audit chain, the webhook events with their deliveries and
// the outbox rows are written in one transaction.
//
// The package has one repository for each aggregate, on one engine. Names of files begin with their subject: a file account_… or webhook_…
// declares methods of the repositories of that subject. TestSubjects states which subject may use which.
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
	"golang.org/x/crypto/bcrypt"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"countersign/internal/vault"
	"countersign/models"
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

// Store composes the repositories, each of which declares the methods of one aggregate. It is safe for concurrent use.
type Store struct {
	*engine
	*IdempotencyRepository
	*AppRepository
	*UserRepository
	*KeyRepository
	*WebhookRepository
	*ArchiveRepository
	*EnvelopeListRepository
	*EnvelopeRepository
	*FileRepository
	*MailRepository
	*AttachmentRepository
	*TemplateRepository
	*EmbeddedRepository
	*BulkRepository
	*Archiver
	*MaintenanceRepository
	*Rewrapper
}

// compose returns the repositories on an engine.
func compose(e *engine) *Store {
	s := &Store{
		engine: e, IdempotencyRepository: &IdempotencyRepository{e}, KeyRepository: &KeyRepository{e}, ArchiveRepository: &ArchiveRepository{e},
		AppRepository: &AppRepository{e}, EnvelopeListRepository: &EnvelopeListRepository{e}, FileRepository: &FileRepository{e}, MailRepository: &MailRepository{e},
	}
	s.UserRepository = &UserRepository{e, s.AppRepository}
	s.WebhookRepository = &WebhookRepository{e, s.AppRepository}
	s.EnvelopeRepository = &EnvelopeRepository{e, s.AppRepository, s.WebhookRepository, s.ArchiveRepository, s.EnvelopeListRepository}
	s.AttachmentRepository = &AttachmentRepository{e, s.EnvelopeRepository}
	s.TemplateRepository = &TemplateRepository{e, s.EnvelopeRepository}
	s.EmbeddedRepository = &EmbeddedRepository{e, s.EnvelopeRepository}
	s.BulkRepository = &BulkRepository{e, s.AppRepository, s.WebhookRepository, s.EnvelopeRepository, s.TemplateRepository}
	s.Archiver = &Archiver{s.ArchiveRepository, s.EnvelopeRepository}
	s.MaintenanceRepository = &MaintenanceRepository{e, s.WebhookRepository, s.ArchiveRepository, s.BulkRepository}
	s.Rewrapper = &Rewrapper{e, s.AppRepository, s.UserRepository, s.EnvelopeRepository}
	return s
}

// Open connects to the database. It does not migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("database URL cannot be read") // not the parse error: it repeats the password
	}
	cfg.PasswordCost, cfg.Plans, cfg.History = cmp.Or(cfg.PasswordCost, bcrypt.DefaultCost), cmp.Or(cfg.Plans, models.DefaultPlans()), cmp.Or(cfg.History, 90*24*time.Hour)
	s := &engine{
		cfg: cfg, vault: cfg.Vault, newID: cfg.NewID, wake: make(chan struct{}, 1),
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
	return compose(s), nil
}
