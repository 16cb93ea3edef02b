package main

import (
	"context"

	"countersign/internal/vault"
	"countersign/store"
)

type migrateCommand struct{}

// Run migrates the database, and creates the first app and user specified in the settings.
func (migrateCommand) Run(ctx context.Context) error {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	return withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		v, err := s.Migrate(ctx)
		if err != nil {
			return err
		}
		log := logger(cfg, false)
		log.InfoContext(ctx, "the database is up to date", "version", v)
		created, err := createFirst(ctx, cfg, s)
		if created {
			log.InfoContext(ctx, "the first app and its administrator were created")
		}
		return err
	})
}
