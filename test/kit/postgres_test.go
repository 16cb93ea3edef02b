package kit_test

import (
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func postgresAnswers(t *testing.T, dsn string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}

// sharedTempDir returns a directory that an unprivileged server can also access.
func sharedTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kit-") //nolint:usetesting // other accounts cannot access t.TempDir
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o777))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestPostgres_EachTestHasAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 8)
	t.Run("parallel", func(t *testing.T) {
		for range cap(seen) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				dsn := kit.Postgres(t)
				seen <- dsn
				conn := connect(t, dsn)
				_, err := conn.Exec(t.Context(), "CREATE TABLE one (n int)")
				require.NoError(t, err, "the database must not contain tables of other tests")
				var zone, encoding string
				require.NoError(t, conn.QueryRow(t.Context(), "SHOW timezone").Scan(&zone))
				require.NoError(t, conn.QueryRow(t.Context(), "SHOW server_encoding").Scan(&encoding))
				require.Equal(t, "UTF8", encoding)
			})
		}
	})
	close(seen)
	names := map[string]bool{}
	for dsn := range seen {
		names[dsn] = true
		require.False(t, postgresAnswers(t, dsn), "the database must be dropped when its test ends")
	}
	require.Len(t, names, cap(seen))
}

func TestStartPostgres(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]kit.PostgresOptions{"fast": {}, "durable": {Durable: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := kit.StartPostgres(t.Context(), opts)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })

			var fsync string
			require.NoError(t, connect(t, server.URL).QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
			require.Equal(t, opts.Durable, fsync == "on")

			u, err := url.Parse(server.URL)
			require.NoError(t, err)
			u.User = url.UserPassword("postgres", "wrong")
			require.False(t, postgresAnswers(t, u.String()), "loopback ports are open to every user of the machine")

			require.NoError(t, server.Stop(t.Context()))
			require.False(t, postgresAnswers(t, server.URL))
		})
	}
}

// TestCrashAndRestart checks that a crash loses no committed change, and that the restarted server has the same
// address.
func TestCrashAndRestart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := kit.StartPostgres(ctx, kit.PostgresOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(ctx))) })
	conn := connect(t, server.URL)
	_, err = conn.Exec(ctx, "CREATE TABLE kept AS SELECT 1 AS n")
	require.NoError(t, err)

	require.NoError(t, server.Crash(ctx))
	require.False(t, postgresAnswers(t, server.URL))
	require.Error(t, conn.Ping(ctx))
	require.NoError(t, server.Restart(ctx))
	var n int
	require.NoError(t, connect(t, server.URL).QueryRow(ctx, "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 1, n)
}
