package main

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/store"
)

// TestCommandsDoNotMigrateTheDatabaseOfAService: a command of a newer program, on the database of a service that runs,
// changes nothing of it; only `migrate` does. The data directory of dev is brought up to date by any of them.
func TestCommandsDoNotMigrateTheDatabaseOfAService(t *testing.T) {
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			url := testkit.DatabaseURL(t, kind)
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
			s, err := store.Open(t.Context(), store.Config{URL: url, Vault: testkit.Vault(t), Now: now, NewID: newID})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			require.Error(t, s.Migrated(t.Context()), "nothing was migrated")
		})
	}
	require.NoError(t, appCreate{database: database{DataDir: t.TempDir()}, Name: "Acme", Plan: "free"}.Run(t.Context()))
}
