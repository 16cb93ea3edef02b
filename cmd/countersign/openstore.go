package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"countersign/config"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// newID returns a new ID. IDs sort in order of creation (RFC 9562, UUIDv7).
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// productionConfig loads the settings and checks that the settings with the given names are set.
func productionConfig(names ...string) (config.Config, error) {
	cfg, err := config.Load(os.Environ(), config.Default())
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.Require(names...)
}

// openStore opens the database without checking its state.
func openStore(ctx context.Context, cfg config.Config) (*store.Store, *vault.Vault, error) {
	v, err := vault.New(string(cfg.MasterKey))
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, store.Config{
		URL: string(cfg.DatabaseURL), ReadURL: string(cfg.DatabaseReadURL), BaseURL: cfg.BaseURL, LeakedPasswords: cfg.LeakedPasswords, Plans: cfg.Plans(), History: time.Duration(cfg.HistoryDays) * 24 * time.Hour, Vault: v, Now: now, NewID: newID,
	})
	return s, v, err
}

func openBlobs(ctx context.Context, cfg config.Config, v *vault.Vault) (*blob.Encrypted, error) {
	plain, err := blob.Open(ctx, cfg.BlobURL)
	if err != nil {
		return nil, err
	}
	return blob.NewEncrypted(plain, v, cfg.EncryptFiles), nil
}

// database specifies the database that a command uses.
type database struct {
	DataDir string `help:"Data directory of a service run by 'dev'. Default: the database in the settings." type:"path"`
}

func (d database) config() (config.Config, error) {
	if d.DataDir == "" {
		return productionConfig("DATABASE_URL", "MASTER_KEY")
	}
	if err := prepareDataDir(d.DataDir); err != nil {
		return config.Config{}, err
	}
	return devConfig(d.DataDir, config.Default().Listen)
}

// with runs fn with the store. It returns an error unless the database has the version of this program. A service that
// is still running may need the older version, so only the operator decides when to migrate. The database of 'dev' is
// migrated automatically.
func (d database) with(ctx context.Context, fn func(*store.Store) error) error {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	return withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		if err := d.prepare(ctx, s); err != nil {
			return err
		}
		return fn(s)
	})
}

func (d database) prepare(ctx context.Context, s *store.Store) error {
	if d.DataDir != "" {
		if _, err := s.Migrate(ctx); err != nil {
			return err
		}
	}
	return checkReady(ctx, s)
}

// checkReady returns an error unless the database has the schema of this program and was written with the master key in
// the settings. Every command that uses data must call it first, because data written with another key would be
// unreadable.
func checkReady(ctx context.Context, s *store.Store) error {
	if err := s.Migrated(ctx); err != nil {
		return err
	}
	return checkMasterKey(ctx, s)
}

// checkMasterKey returns an error if the master key cannot decrypt the signing keys of the service. If the database is
// new, it creates these keys.
func checkMasterKey(ctx context.Context, s *store.Store) error {
	for _, purpose := range []models.KeyPurpose{models.KeyTokens, models.KeyManifests} {
		switch _, err := s.Keys(ctx, purpose); {
		case errors.Is(err, vault.ErrUnknownKey):
			return fmt.Errorf("%sMASTER_KEY is not the master key of this database; add the former key after a comma: %w", config.Prefix, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// withApp is like with, but also loads the app that has the given ID or client ID.
func (d database) withApp(ctx context.Context, id uuid.UUID, fn func(*store.Store, *models.App) error) error {
	return d.with(ctx, func(s *store.Store) error {
		app, err := s.AppByAnyID(ctx, id)
		if err != nil {
			return err
		}
		return fn(s, app)
	})
}

// withFiles runs fn with the store and the files. The database must be migrated to the version of this program. The
// service may be running.
func (d database) withFiles(ctx context.Context, fn func(*store.Store, *blob.Encrypted) error) error {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	if err := cfg.Require("BLOB_URL"); err != nil {
		return err
	}
	return withFiles(ctx, cfg, fn)
}

// withStore runs fn with the database specified in the settings, regardless of its state.
func withStore(ctx context.Context, cfg config.Config, fn func(*store.Store, *vault.Vault) error) (err error) {
	s, v, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return fn(s, v)
}

// withFiles runs fn with the database and the files specified in the settings.
func withFiles(ctx context.Context, cfg config.Config, fn func(*store.Store, *blob.Encrypted) error) error {
	return withStore(ctx, cfg, func(s *store.Store, v *vault.Vault) error {
		if err := checkReady(ctx, s); err != nil {
			return err
		}
		blobs, err := openBlobs(ctx, cfg, v)
		if err != nil {
			return err
		}
		s.UseArchives(blobs)
		return fn(s, blobs)
	})
}
