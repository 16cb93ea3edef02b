package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

var update = flag.Bool("update", false, "add new migrations to testdata/migrations.sha256")

// TestMigrationsOnlyGrow checks that a migration is never changed once a database may have run it.
// testdata/migrations.sha256 lists the hashes of all migrations. The flag -update appends the hashes of new
// migrations.
func TestMigrationsOnlyGrow(t *testing.T) {
	t.Parallel()
	const list = "testdata/migrations.sha256"
	known := make(map[string]string)
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		known[name] = sum
	}
	found, err := filepath.Glob("migrations/*/*.sql")
	require.NoError(t, err)
	var added strings.Builder
	byDatabase := make(map[string][]string)
	for _, path := range found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		hash := sha256.Sum256(content)
		sum, name := hex.EncodeToString(hash[:]), strings.TrimPrefix(filepath.ToSlash(path), "migrations/")
		database, file, _ := strings.Cut(name, "/")
		byDatabase[database] = append(byDatabase[database], file)
		if was, ok := known[name]; ok {
			assert.Equal(t, was, sum, "%s was changed: write a new migration instead", name)
		} else {
			added.WriteString(sum + "  " + name + "\n")
		}
		delete(known, name)
	}
	assert.Empty(t, known, "migrations were removed")
	assert.Equal(t, byDatabase["postgres"], byDatabase["sqlite"], "both databases have the same migrations")
	if added.Len() > 0 && *update {
		require.NoError(t, os.WriteFile(list, append(text, added.String()...), 0o600))
		return
	}
	assert.Empty(t, added.String(), "new migrations: run go test ./store -run TestMigrationsOnlyGrow -update")
}

// TestMigrate_ConfiguresThePlanner checks that the planner is configured even if the database is already migrated. A
// database restored from a dump lacks these settings.
func TestMigrate_ConfiguresThePlanner(t *testing.T) {
	t.Parallel()
	open := func(url string) *store.Store {
		s, err := store.Open(t.Context(), store.Config{URL: url, Vault: kit.Vault(t), Now: kit.NewClock().Now, NewID: uuid.New})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	url := kit.DirectURL(t, kit.DatabaseURL(t, "postgres")) // PgBouncer would reuse connections with the old settings
	slow := func() []string {
		settings, err := open(url).SlowPlanner(t.Context())
		require.NoError(t, err)
		return settings
	}
	migrate := func() {
		_, err := open(url).Migrate(t.Context())
		require.NoError(t, err)
	}
	migrate()
	require.Empty(t, slow())
	execute(t, open(url), `DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET ALL', current_user, current_database()); END $$`)
	require.Equal(t, []string{"jit = on", "max_parallel_workers_per_gather = 2"}, slow())
	for range 2 {
		migrate()
		require.Empty(t, slow())
	}
	sqlite, err := open(kit.DatabaseURL(t, "sqlite")).SlowPlanner(t.Context())
	require.NoError(t, err)
	require.Empty(t, sqlite)
}

// TestMigrate_ConcurrentProcesses checks that several processes that start together can migrate an empty database.
func TestMigrate_ConcurrentProcesses(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		url, clock := kit.DatabaseURL(t, kind), kit.NewClock()
		versions := make([]int64, 4)
		g, ctx := errgroup.WithContext(t.Context())
		for i := range versions {
			s, err := store.Open(ctx, store.Config{URL: url, Vault: kit.Vault(t), Now: clock.Now, NewID: uuid.New})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			g.Go(func() (err error) {
				versions[i], err = s.Migrate(ctx)
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.Positive(t, versions[0])
		for _, v := range versions {
			require.Equal(t, versions[0], v)
		}
	})
}

// TestAuditEvents_AreAppendOnly checks that both databases reject updates and deletions of audit events.
func TestAuditEvents_AreAppendOnly(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		url := kit.DatabaseURL(t, kind)
		clock := kit.NewClock()
		s, err := store.Open(t.Context(), store.Config{
			URL: url, PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: clock.Now, NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.Error(t, s.Migrated(t.Context()))
		v, err := s.Migrate(t.Context())
		require.NoError(t, err)
		assert.Positive(t, v)
		require.NoError(t, s.Migrated(t.Context()))
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)

		driver, dsn := "pgx", url
		if kind == "sqlite" {
			driver, dsn = "sqlite", strings.TrimPrefix(url, "sqlite://")
		}
		db, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		keys, err := s.Keys(t.Context(), models.KeyManifests)
		require.NoError(t, err)
		require.NoError(t, s.RevokeKey(t.Context(), keys[0].ID, clock.Now(), "lost"))
		for _, q := range []string{"UPDATE key_revocations SET reason = 'x'", "DELETE FROM key_revocations", "UPDATE audit_events SET actor = 'x'", "DELETE FROM audit_events", "UPDATE audit_events SET hash = hash WHERE seq = 1"} {
			_, err := db.ExecContext(t.Context(), q)
			require.ErrorContains(t, err, "append-only", q)
		}
		f.check(e.ID)
	})
}

// TestAwaitMigration_OfAnotherProcess checks that a migration by another process is detected, and that waiting for the
// migration ends with the context.
func TestAwaitMigration_OfAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kit.Store(t, "sqlite", kit.NewClock().Now)
	var version int64
	require.NoError(t, pool(t, s).QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&version))
	migrated, err := s.MigratedConcurrently(ctx, version-1)
	require.NoError(t, err)
	require.True(t, migrated)
	ending, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	migrated, err = s.MigratedConcurrently(ending, version)
	require.NoError(t, err)
	require.False(t, migrated)
}
