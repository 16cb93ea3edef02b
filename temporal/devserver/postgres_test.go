package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // "pgx"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// databases creates a pair of databases on the server in COUNTERSIGN_TEST_POSTGRES, and returns the address of the main
// one.
func databases(t *testing.T) string {
	t.Helper()
	server := os.Getenv("COUNTERSIGN_TEST_POSTGRES")
	require.NotEmpty(t, server, "COUNTERSIGN_TEST_POSTGRES must specify a server; make check sets it")
	u, err := url.Parse(server)
	require.NoError(t, err)
	db, err := sql.Open("pgx", server)
	require.NoError(t, err)
	name := fmt.Sprintf("temporal_%d", time.Now().UnixNano())
	for _, n := range []string{name, name + visibilitySuffix} {
		_, err = db.ExecContext(t.Context(), "CREATE DATABASE "+n)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		for _, n := range []string{name, name + visibilitySuffix} {
			_, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+n+" WITH (FORCE)")
			require.NoError(t, err)
		}
		require.NoError(t, db.Close())
	})
	u.Path = "/" + name
	return u.String()
}

// TestPostgreSQL_SurvivesRestart checks that a workflow continues after a server restart with the same PostgreSQL
// database.
func TestPostgreSQL_SurvivesRestart(t *testing.T) {
	t.Parallel()
	address := databases(t)
	open := func() *server {
		s, err := startServer(t.Context(), mustParse(t, "--port=0", "--headless", "--postgres", address))
		require.NoError(t, err)
		return s
	}
	first := open()
	c := dial(t, first.address)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "envelope/1", TaskQueue: "queue"}, waiting)
	require.NoError(t, err)
	require.NoError(t, first.stop())

	second := open()
	c = dial(t, second.address)
	runWorker(t, c)
	require.NoError(t, c.SignalWorkflow(t.Context(), "envelope/1", "", "go", "yes"))
	var answer string
	require.NoError(t, c.GetWorkflow(t.Context(), "envelope/1", "").Get(t.Context(), &answer))
	require.Equal(t, "yes", answer)
	require.NoError(t, second.stop())
}

func mustParse(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parseOptions(args, os.Stderr)
	require.NoError(t, err)
	return o
}
