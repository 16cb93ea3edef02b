package kit_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestMigratedURL checks that each test receives a database with all migrations and without the rows of other tests.
func TestMigratedURL(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		seen := map[string]bool{}
		for range 2 {
			url := kit.MigratedURL(t, kind)
			require.False(t, seen[url])
			seen[url] = true
			s, err := store.Open(t.Context(), store.Config{URL: url, PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: kit.NewClock().Now, NewID: uuid.New})
			require.NoError(t, err)
			require.NoError(t, s.Migrated(t.Context()))
			db, err := s.DB()
			require.NoError(t, err)
			var apps int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM apps").Scan(&apps))
			require.Zero(t, apps)
			_, _, err = s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
	})
}

// TestTemplatesOfEarlierDays checks that creating today's template removes the templates of earlier days, but no other
// databases.
func TestTemplatesOfEarlierDays(t *testing.T) {
	t.Parallel()
	server, err := kit.StartPostgres(t.Context(), kit.PostgresOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	for _, name := range []string{kit.TemplatePrefix + "20010101_0123456789abcdef", "countersign_tempus", "countersign"} {
		require.NoError(t, server.Exec(t.Context(), `CREATE DATABASE "`+name+`" TEMPLATE template0`))
	}
	made, err := kit.PostgresTemplate(server.URL)
	require.NoError(t, err)
	again, err := kit.PostgresTemplate(server.URL)
	require.NoError(t, err)
	require.Equal(t, made, again)
	rows, err := connect(t, server.URL).Query(t.Context(), `SELECT datname FROM pg_database WHERE datname LIKE 'countersign%'`)
	require.NoError(t, err)
	defer rows.Close()
	var left []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		left = append(left, name)
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, []string{made, "countersign_tempus", "countersign"}, left)
}
