// Package kit provides the real servers that tests need: a PostgreSQL database and a Temporal namespace for each test.
//
// The servers are specified by the environment variables COUNTERSIGN_TEST_POSTGRES and COUNTERSIGN_TEST_TEMPORAL. If a
// variable is not set, the first test of a test binary starts a private server, which stops when the binary exits for
// any reason. A test fails if its server is not available. It is skipped only if the variable has the value "none", as
// in "make quick".
package kit

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresVariable is the environment variable with the postgres:// URL of a server on which tests may create
// databases.
const PostgresVariable = "COUNTERSIGN_TEST_POSTGRES"

// DirectVariable is the environment variable with the URL of the server behind the PgBouncer in PostgresVariable. It
// is empty if there is no PgBouncer.
const DirectVariable = "COUNTERSIGN_TEST_POSTGRES_DIRECT"

// noServer, as the value of PostgresVariable or TemporalVariable, means that this machine has no such server. Tests
// that need it are skipped.
const noServer = "none"

// Needs skips the test if the environment variable has the value noServer. Every function that provides a server
// calls it. A test that starts its own server must call it first.
func Needs(tb testing.TB, variable string) {
	tb.Helper()
	if os.Getenv(variable) == noServer {
		tb.Skipf("needs a server, and %s is %q", variable, noServer)
	}
}

const (
	serverStartTimeout = 60 * time.Second
	databaseTimeout    = 30 * time.Second
)

// sharedPostgres returns the private server of this test binary. It is shared, because starting a server takes about
// 2 s. It stops when the process exits.
var sharedPostgres = sync.OnceValues(func() (*PostgresServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), serverStartTimeout)
	defer cancel()
	return StartPostgres(ctx, PostgresOptions{})
})

// Postgres returns the postgres:// URL of an empty database for this test only. The database is dropped when the test
// ends, even if connections are still open.
func Postgres(tb testing.TB) string {
	tb.Helper()
	// template0 has no connections, so parallel tests do not block each other.
	return createDatabase(tb, postgresServer(tb), "template0")
}

// DirectURL returns the URL of a test's database on the server itself, for programs that change session settings,
// such as pg_dump and psql. PgBouncer in transaction mode would pass such a session on to other clients.
func DirectURL(tb testing.TB, database string) string {
	tb.Helper()
	server := os.Getenv(DirectVariable)
	if server == "" {
		return database
	}
	direct, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("%s must be a postgres:// URL", DirectVariable)
	}
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal("the database's address is not a URL")
	}
	direct.Path = u.Path
	return direct.String()
}

// postgresServer returns the URL of the server on which tests create databases.
func postgresServer(tb testing.TB) string {
	tb.Helper()
	Needs(tb, PostgresVariable)
	server := os.Getenv(PostgresVariable)
	if server == "" {
		private, err := sharedPostgres()
		if err != nil {
			tb.Fatalf("start PostgreSQL for tests: %v; to use an existing server, set %s", err, PostgresVariable)
		}
		server = private.URL
	}
	return server
}

// createDatabase creates a copy of a database that has no connections.
func createDatabase(tb testing.TB, server, template string) string {
	tb.Helper()
	database, err := url.Parse(server)
	if err != nil || (database.Scheme != "postgres" && database.Scheme != "postgresql") {
		tb.Fatalf("%s must be a postgres:// URL", PostgresVariable)
	}

	name := "countersign_test_" + rand.Text()
	execPostgres(tb, server, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q ENCODING 'UTF8'`, name, template))
	tb.Cleanup(func() { execPostgres(tb, server, fmt.Sprintf(`DROP DATABASE %q WITH (FORCE)`, name)) })
	database.Path = "/" + name
	return database.String()
}

// execPostgres runs a statement on a new connection. It also works in cleanup functions, after the test's context has
// ended.
func execPostgres(tb testing.TB, server, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), databaseTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		tb.Fatalf("connect to PostgreSQL for tests: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("PostgreSQL for tests: %s: %v", statement, err)
	}
}
