package main

import (
	"context"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestCommands_DoNotMigrateAServiceDatabase checks that only `migrate` migrates the database of a service, whereas
// every command migrates the database in dev's data directory.
func TestCommands_DoNotMigrateAServiceDatabase(t *testing.T) {
	for _, kind := range kit.Databases {
		t.Run(kind, func(t *testing.T) {
			url := kit.DatabaseURL(t, kind)
			t.Setenv("COUNTERSIGN_DATABASE_URL", url)
			t.Setenv("COUNTERSIGN_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
			for name, run := range map[string]func(context.Context) error{
				"app create":          appCreate{Name: "Acme", Plan: "free"}.Run,
				"envelope stuck":      envelopeStuck{}.Run,
				"envelope void-stuck": envelopeVoid{storedEnvelope: storedEnvelope{ID: uuid.New()}, Reason: "x"}.Run,
				"key list":            keyList{}.Run,
				"key revoke":          keyRevoke{ID: "x", Reason: "x"}.Run,
				"key rotate":          keyRotate{Purpose: "tokens"}.Run,
				"tenant show":         tenantShow{tenantOf{App: uuid.New()}}.Run,
			} {
				require.ErrorContains(t, run(t.Context()), "run `countersign migrate` first", name)
			}
			s, err := store.Open(t.Context(), store.Config{URL: url, Vault: kit.Vault(t), Now: now, NewID: newID})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			require.Error(t, s.Migrated(t.Context()), "the database must not be migrated")
		})
	}
	require.NoError(t, appCreate{database: database{DataDir: t.TempDir()}, Name: "Acme", Plan: "free"}.Run(t.Context()))
}

// TestCommands_RejectAnotherMasterKey checks that a command changes nothing if MASTER_KEY does not match the database,
// because data written with another key would be unreadable.
func TestCommands_RejectAnotherMasterKey(t *testing.T) {
	url := kit.MigratedURL(t, "sqlite")
	t.Setenv("COUNTERSIGN_DATABASE_URL", url)
	t.Setenv("COUNTERSIGN_BLOB_URL", "file://"+t.TempDir())
	t.Setenv("COUNTERSIGN_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	require.NoError(t, appCreate{Name: "Acme", Plan: "free"}.Run(t.Context()))
	t.Setenv("COUNTERSIGN_MASTER_KEY", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
	for name, run := range map[string]func(context.Context) error{
		"app create":    appCreate{Name: "Other", Plan: "free"}.Run,
		"envelope void": envelopeVoid{storedEnvelope: storedEnvelope{ID: uuid.New()}, Reason: "x"}.Run,
		"key rewrap":    keyRewrap{}.Run,
		"key rotate":    keyRotate{Purpose: "tokens"}.Run,
		"reconcile":     reconcileCommand{}.Run,
	} {
		require.ErrorContains(t, run(t.Context()), "MASTER_KEY is not the master key of this database", name)
	}
	s, err := store.Open(t.Context(), store.Config{URL: url, Vault: kit.Vault(t), Now: now, NewID: newID})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	n, err := s.Rewrap(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n, "no data may be written with the wrong key")
}

// TestRotateKey_OfRecords checks that the record key can be rotated by its current name and by its former name.
func TestRotateKey_OfRecords(t *testing.T) {
	url := kit.MigratedURL(t, "sqlite")
	t.Setenv("COUNTERSIGN_DATABASE_URL", url)
	t.Setenv("COUNTERSIGN_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	s, err := store.Open(t.Context(), store.Config{URL: url, Vault: kit.Vault(t), Now: now, NewID: newID})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	count := func() (records, tokens int) {
		for purpose, n := range map[models.KeyPurpose]*int{models.KeyManifests: &records, models.KeyTokens: &tokens} {
			keys, err := s.Keys(t.Context(), purpose)
			require.NoError(t, err)
			*n = len(keys)
		}
		return records, tokens
	}
	records, tokens := count()
	for _, name := range []string{"records", "manifests"} {
		var rotate struct{ keyRotate }
		parser, err := kong.New(&rotate)
		require.NoError(t, err)
		_, err = parser.Parse([]string{name})
		require.NoError(t, err)
		require.NoError(t, rotate.Run(t.Context()))
	}
	after, same := count()
	assert.Equal(t, records+2, after)
	assert.Equal(t, tokens, same)
}
