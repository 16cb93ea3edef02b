package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestOpen_NamesInvalidDatabases checks that the error for an invalid database identifies the database.
func TestOpen_NamesInvalidDatabases(t *testing.T) {
	t.Parallel()
	open := func(url string, conns int) (*store.Store, error) {
		s, err := store.Open(t.Context(), store.Config{URL: url, Vault: kit.Vault(t), Now: clock, NewID: newID, MaxConns: conns})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, s.Close()) })
		}
		return s, err
	}
	_, err := open("sqlite://", 0)
	require.ErrorContains(t, err, "needs a path")
	_, err = open("mysql://localhost/x", 0)
	require.ErrorContains(t, err, `unknown scheme "mysql"`)
	_, err = open("postgres://user:secret@local host/x", 0)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	for url, want := range map[string]int{kit.DatabaseURL(t, "postgres"): 20, "sqlite://" + filepath.Join(t.TempDir(), "deeper", "test.db"): 8} {
		s, err := open(url, 0)
		require.NoError(t, err)
		require.Error(t, s.Migrated(t.Context()))
		_, err = s.Migrate(t.Context())
		require.NoError(t, err)
		db, err := s.DB()
		require.NoError(t, err)
		assert.Equal(t, want, db.Stats().MaxOpenConnections)
		ahead, within, err := s.ClockSkew(t.Context())
		require.NoError(t, err)
		assert.Less(t, ahead.Abs(), time.Minute)
		assert.GreaterOrEqual(t, within, time.Duration(0))

		// All permitted connections are open and idle, so no connection is created.
		var held []interface{ Close() error }
		for range want {
			c, err := db.Conn(t.Context())
			require.NoError(t, err)
			held = append(held, c)
		}
		for _, c := range held {
			require.NoError(t, c.Close())
		}
		assert.Equal(t, want, db.Stats().Idle)
	}
	s, err := open(kit.DatabaseURL(t, "postgres"), 3)
	require.NoError(t, err)
	db, err := s.DB()
	require.NoError(t, err)
	assert.Equal(t, 3, db.Stats().MaxOpenConnections)
}
