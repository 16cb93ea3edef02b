package main

import (
	"context"
	"os"
	"time"

	"github.com/google/uuid"

	"countersign/config"
	"countersign/internal/failpoint"
	"countersign/internal/vault"
	"countersign/store"
	"countersign/store/blob"
)

func now() time.Time { return time.Now().UTC().Add(failpoint.Skew()) } //nolint:forbidigo // the clock that all others are given

// newID makes ids whose order is the order of creation (RFC 9562, UUIDv7).
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// productionConfig reads the settings and asks for those that have no default.
func productionConfig(names ...string) (config.Config, error) {
	cfg, err := config.Load(os.Environ(), config.Default())
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.Require(names...)
}

// openStore opens the database alone.
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

// openBlobs opens the file store.
func openBlobs(ctx context.Context, cfg config.Config, v *vault.Vault) (*blob.Encrypted, error) {
	plain, err := blob.Open(ctx, cfg.BlobURL)
	if err != nil {
		return nil, err
	}
	return blob.NewEncrypted(plain, v, cfg.EncryptFiles), nil
}
