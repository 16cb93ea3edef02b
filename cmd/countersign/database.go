package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"countersign/config"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// database names the database that a command works on.
type database struct {
	DataDir string `help:"Data directory of a service run by 'dev'; without it the settings name the database." type:"path"`
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

// with runs fn on the store, which is brought up to date before. The service may
// be running.
func (d database) with(ctx context.Context, fn func(*store.Store) error) (err error) {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	s, _, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Migrate(ctx); err != nil {
		return err
	}
	return fn(s)
}

// withApp is with for an app, which is named by its client id or its own.
func (d database) withApp(ctx context.Context, id uuid.UUID, fn func(*store.Store, *models.App) error) error {
	return d.with(ctx, func(s *store.Store) error {
		app, err := s.AppByAnyID(ctx, id)
		if err != nil {
			return err
		}
		return fn(s, app)
	})
}

// withFiles runs fn on the store, which must be up to date, and on the files. The
// service may be running.
func (d database) withFiles(ctx context.Context, fn func(*store.Store, *blob.Encrypted) error) (err error) {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	if err := cfg.Require("BLOB_URL"); err != nil {
		return err
	}
	s, v, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Migrated(ctx); err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, cfg, v)
	if err != nil {
		return err
	}
	s.UseArchives(blobs)
	return fn(s, blobs)
}
