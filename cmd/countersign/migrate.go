package main

import (
	"context"

	"countersign/internal/vault"
	"countersign/store"
)

type migrateCommand struct{}

// Run migrates the database.
func (migrateCommand) Run(ctx context.Context) error {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	return withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		v, err := s.Migrate(ctx)
		if err == nil {
			logger(cfg, false).InfoContext(ctx, "database is up to date", "version", v)
		}
		return err
	})
}
