// Package store persists changes to envelopes and finds stored data. All changes to an envelope use Change. The changed
// rows, the next links of the audit chain, the webhook events with their deliveries, and the outbox rows are written in
// a single transaction.
//
// The package has one repository for each aggregate, all of which share an engine. File names begin with the subject: a
// file account_… or webhook_… declares the methods of the repositories of that subject. TestSubjects defines which
// subjects may use which others.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"countersign/internal/limit"
	"countersign/models"
)

// Store combines the repositories. Each repository declares the methods of one aggregate. Store is safe for concurrent
// use.
type Store struct {
	*engine
	*IdempotencyRepository
	*AppRepository
	*UserRepository
	*NotificationRepository
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
	*MaintenanceRepository
}

// compose returns a Store whose repositories use the given engine.
func compose(e *engine) *Store {
	s := &Store{
		engine: e, IdempotencyRepository: &IdempotencyRepository{e}, KeyRepository: &KeyRepository{e}, ArchiveRepository: &ArchiveRepository{e},
		AppRepository: &AppRepository{e}, EnvelopeListRepository: &EnvelopeListRepository{e}, FileRepository: &FileRepository{e}, MailRepository: &MailRepository{e},
	}
	s.UserRepository = &UserRepository{e, s.AppRepository}
	s.NotificationRepository = &NotificationRepository{e}
	s.WebhookRepository = &WebhookRepository{e, s.AppRepository}
	s.EnvelopeRepository = &EnvelopeRepository{
		e, s.AppRepository, s.WebhookRepository, s.ArchiveRepository, s.EnvelopeListRepository, s.NotificationRepository,
		[]effect{settleMail, withdrawAttachments, purgeContents, revokeEmbeddedSessions},
	}
	s.AttachmentRepository = &AttachmentRepository{e, s.EnvelopeRepository}
	s.TemplateRepository = &TemplateRepository{e, s.EnvelopeRepository}
	s.EmbeddedRepository = &EmbeddedRepository{e, s.EnvelopeRepository}
	s.BulkRepository = &BulkRepository{e, s.AppRepository, s.WebhookRepository, s.EnvelopeRepository, s.TemplateRepository}
	s.MaintenanceRepository = &MaintenanceRepository{e, s.WebhookRepository, s.ArchiveRepository, s.BulkRepository}
	return s
}

// Open connects to the database. It does not migrate the database.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("database URL cannot be read") // omits the parse error, which would repeat the password
	}
	cfg.PasswordCost, cfg.Plans, cfg.History = cmp.Or(cfg.PasswordCost, bcrypt.DefaultCost), cmp.Or(cfg.Plans, models.DefaultPlans()), cmp.Or(cfg.History, 90*24*time.Hour)
	s := &engine{
		cfg: cfg, vault: cfg.Vault, newID: cfg.NewID, wake: make(chan struct{}, 1), registry: &registry{rows: make(map[reflect.Type]func(any) encryptedRow)},
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
		s.writers = limit.New(1)
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
	out := compose(s)
	for _, r := range []interface{ register() }{
		out.AppRepository, out.UserRepository, out.KeyRepository, out.WebhookRepository, out.ArchiveRepository, out.EnvelopeRepository, out.AttachmentRepository, out.TemplateRepository, out.BulkRepository,
	} {
		r.register()
	}
	return out, nil
}

// Execute runs fn in a transaction and returns fn's response after the commit. Every call of the Store passed to fn is
// a step of that transaction. The transaction also marks the idempotency key as committed, so that a retry does not
// execute the request again, and stores a non-nil response for retries. A key of uuid.Nil means that the request has
// no idempotency key. If any call fails, all changes are rolled back. If fn changes an archived envelope, the envelope
// is restored and fn is run again.
func (s *Store) Execute(ctx context.Context, key uuid.UUID, fn func(*Store) (*StoredResponse, error)) (*StoredResponse, error) {
	var response *StoredResponse
	err := s.changing(ctx, func(t *transaction) (err error) {
		if response, err = fn(compose(s.withTransaction(t))); err != nil {
			return err
		}
		return s.commitKey(t, key, response)
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// Migrate migrates the database to the version that this program requires, and returns that version. Several processes
// can call it concurrently. It also applies the database settings that dumps do not contain.
func (s *Store) Migrate(ctx context.Context) (int64, error) {
	version, err := s.migrate(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.setPlanner(ctx); err != nil {
		return 0, err
	}
	if _, _, err := s.MaintainPartitions(ctx); err != nil {
		return 0, err
	}
	return version, nil
}
