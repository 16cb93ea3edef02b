package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
)

// otherDatabase returns a valid SQLite file of another program.
func otherDatabase(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", "file:"+file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE notes (text TEXT)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return content
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t.db")
	held, err := lockFile(t.Context(), file)
	require.NoError(t, err)

	short, cancel := context.WithTimeout(t.Context(), 4*lockPoll)
	defer cancel()
	_, err = lockFile(short, file)
	require.ErrorContains(t, err, "is in use by another server")

	// The next server waits for one that is stopping.
	go func() {
		<-short.Done()
		_ = held.Close()
	}()
	begin := time.Now()
	next, err := lockFile(t.Context(), file)
	require.NoError(t, err)
	require.Less(t, time.Since(begin), lockTimeout)
	require.NoError(t, next.Close())
}

func TestPrepareFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	t.Run("empty file and left-over of a cut start", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(dir, "empty.db")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.NoError(t, os.WriteFile(file+".new", []byte("half a schema"), 0o600))
		require.NoError(t, prepareFile(t.Context(), file))
		require.NoError(t, prepareFile(t.Context(), file), "the second call only checks the file")
		require.NoFileExists(t, file+".new")
	})

	t.Run("file of another release", func(t *testing.T) {
		t.Parallel()
		for name, aside := range map[string]string{"old.db": "old.db.1.7", "older.db": "older.db.1.7-1"} {
			file, aside := filepath.Join(dir, name), filepath.Join(dir, aside)
			require.NoError(t, createFile(t.Context(), file+"-seed"))
			require.NoError(t, os.Rename(file+"-seed", file))
			db, err := sql.Open("sqlite", "file:"+file)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 1007; CREATE TABLE kept (text TEXT)")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			if name == "older.db" {
				require.NoError(t, os.WriteFile(file+".1.7", nil, 0o600), "one was moved aside before")
			}
			require.NoError(t, prepareFile(t.Context(), file))
			wrote, err := checkFile(t.Context(), aside)
			require.NoError(t, err)
			require.Equal(t, 1007, wrote, "no file may be deleted")
			wrote, err = checkFile(t.Context(), file)
			require.NoError(t, err)
			require.Equal(t, release(), wrote)
			require.NoError(t, prepareFile(t.Context(), file), "the new file is used from then on")
		}
	})

	t.Run("read-only file", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() == 0 {
			return // file permissions do not restrict root
		}
		file := filepath.Join(dir, "readonly.db")
		require.NoError(t, createFile(t.Context(), file))
		require.NoError(t, os.Chmod(file, 0o400))
		require.ErrorContains(t, prepareFile(t.Context(), file), "cannot be used: permission denied")
	})
}

// TestRelease_IsReadable checks that the server's version can be read.
func TestRelease_IsReadable(t *testing.T) {
	t.Parallel()
	require.Greater(t, release(), 1030)
	require.Less(t, release(), 100000)
}

func TestAddAttributes(t *testing.T) {
	t.Parallel()
	cfg := &persistencespb.NamespaceConfig{CustomSearchAttributeAliases: map[string]string{"Keyword01": "TenantId"}}

	changed, err := addAttributes(cfg, countersignAttributes())
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, map[string]string{"Keyword01": "TenantId", "Keyword02": "AppId", "Keyword03": "EnvelopeId", "Keyword04": "EnvelopeStatus", "Keyword05": "Stuck"},
		cfg.GetCustomSearchAttributeAliases())

	changed, err = addAttributes(cfg, countersignAttributes())
	require.NoError(t, err)
	require.False(t, changed)

	_, err = addAttributes(cfg, map[string]enums.IndexedValueType{"AppId": enums.INDEXED_VALUE_TYPE_INT})
	require.EqualError(t, err, "search attribute AppId is of type Keyword, not Int")

	many := map[string]enums.IndexedValueType{}
	for i := range 4 {
		many[string(rune('A'+i))] = enums.INDEXED_VALUE_TYPE_TEXT
	}
	_, err = addAttributes(cfg, many)
	require.ErrorContains(t, err, "all columns of type Text are in use")
}
