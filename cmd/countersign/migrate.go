package main

import (
	"context"
	"errors"
)

type migrateCommand struct{}

// Run migrates the database.
func (migrateCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	s, _, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v, err := s.Migrate(ctx)
	if err != nil {
		return err
	}
	logger(cfg, false).InfoContext(ctx, "database is up to date", "version", v)
	return nil
}
