package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// Time limits for opening a database.
const (
	lockTimeout  = 10 * time.Second // a server that is stopping needs about 3 s
	lockPoll     = 50 * time.Millisecond
	checkTimeout = 2 * time.Second // for the consistency check; a file too large to check in time is assumed to be valid
)

// database is the storage of one server.
type database struct {
	config     *config.SQL
	visibility *config.SQL // nil if the same as config
	shards     int32       // number of history shards
	lock       *os.File    // lock on an SQLite file, or nil
}

// openDatabase prepares the file and returns its configuration. It creates a missing or empty file with Temporal's
// schema. It rejects a file that another server uses, that is damaged, or that has other content. An empty file name
// keeps all data in memory.
func openDatabase(ctx context.Context, file string, pragmas map[string]string) (*database, error) {
	if file == "" {
		return &database{shards: 1, config: &config.SQL{
			PluginName:        sqlite.PluginName,
			DatabaseName:      "countersign",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}}, nil
	}

	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { //nolint:gosec // specified on the command line
		return nil, fmt.Errorf("database file %s is not a regular file", file)
	}
	lock, err := lockFile(ctx, file)
	if err != nil {
		return nil, err
	}
	db := &database{shards: 1, config: fileConfig(file, pragmas), lock: lock}
	if err := prepareFile(ctx, file); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// close releases the file so that another server can use it.
func (d *database) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// fileConfig returns a configuration that uses WAL with one fsync per checkpoint. A crash of the process loses nothing,
// and a power failure loses at most the latest changes.
func fileConfig(file string, pragmas map[string]string) *config.SQL {
	attributes := map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "1"}
	maps.Copy(attributes, pragmas)
	return &config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      escapePath(file),
		ConnectAttributes: attributes,
	}
}

// escapePath escapes a path for use in an SQLite URI file name (sqlite.org/uri.html, 3.1).
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// lockFile acquires an exclusive lock on a file beside the given one, so that two servers never use the same file. If
// they did, ownership of the shard would alternate with every write. lockFile waits for a previous server that is still
// stopping.
func lockFile(ctx context.Context, file string) (*os.File, error) {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // specified on the command line
	if err != nil {
		return nil, fmt.Errorf("database file %s cannot be used: %w", file, withoutPath(err))
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock database file %s: %w", file, err), lock.Close())
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, errors.Join(ctx.Err(), lock.Close())
			}
			return nil, errors.Join(fmt.Errorf("database file %s is in use by another server", file), lock.Close())
		case <-tick.C:
		}
	}
}

// prepareFile ensures that the file is valid and has Temporal's schema.
func prepareFile(ctx context.Context, file string) error {
	info, err := os.Stat(file) //nolint:gosec // specified on the command line
	switch {
	case errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() == 0):
		if err := createFile(ctx, file); err != nil {
			return fmt.Errorf("create database file %s: %w", file, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("database file: %w", err)
	}

	f, err := os.OpenFile(file, os.O_RDWR, 0) //nolint:gosec // specified on the command line
	if err != nil {
		return fmt.Errorf("database file %s cannot be used: %w", file, withoutPath(err))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("database file: %w", err)
	}
	wrote, err := checkFile(ctx, file)
	if err != nil {
		return fmt.Errorf("database file %s %w", file, err)
	}
	if wrote == release() {
		return nil
	}
	aside, err := moveAside(file, wrote)
	if err != nil {
		return fmt.Errorf("rename database file %s: %w", file, err)
	}
	fmt.Fprintf(os.Stderr, "database file %s was created by another version of Temporal and has been renamed to %s; Countersign restarts its workflows in a new file\n", file, aside)
	if err := createFile(ctx, file); err != nil {
		return fmt.Errorf("create database file %s: %w", file, err)
	}
	return nil
}

// release returns the version of this server as a number without the patch version, such as 1032 for 1.32.1. Temporal
// has no migrations for SQLite, so a file is used only by the release that created it.
func release() int {
	var major, minor int
	_, _ = fmt.Sscanf(headers.ServerVersion, "%d.%d.", &major, &minor) // checked by TestRelease_IsReadable
	return 1000*major + minor
}

// moveAside renames an unused file of another release, and returns its new name.
func moveAside(file string, wrote int) (string, error) {
	aside := fmt.Sprintf("%s.%d.%d", file, wrote/1000, wrote%1000)
	for n := 1; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // beside the file named on the command line
			break
		}
		aside = fmt.Sprintf("%s.%d.%d-%d", file, wrote/1000, wrote%1000, n)
	}
	for _, suffix := range []string{"-wal", "-shm", ""} { // the file comes last, so that an interrupted move is repeated
		if err := os.Rename(file+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // see above
			return "", err
		}
	}
	return aside, nil
}

// createFile creates the schema in a file with a temporary name, so that an interrupted start never leaves an
// incomplete schema behind.
func createFile(ctx context.Context, file string) error {
	tmp := file + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // named on the command line
		return err
	}
	setup := &config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      escapePath(tmp),
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "memory", "synchronous": "0"},
	}
	if err := sqliteschema.SetupSchema(setup); err != nil {
		return err
	}
	if err := stamp(ctx, tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o600); err != nil { //nolint:gosec // specified on the command line
		return err
	}
	return os.Rename(tmp, file) //nolint:gosec // specified on the command line
}

// stamp writes the release of this server to a new file.
func stamp(ctx context.Context, file string) (err error) {
	db, err := sql.Open("sqlite", "file:"+escapePath(file)+"?mode=rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", release()))
	return err
}

// withoutPath returns the cause of a path error, for messages that already contain the path.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// checkFile checks that the file is an SQLite database with Temporal's tables. It returns the release that created the
// file, or zero if the release is unknown. Its error completes a sentence that begins "database file X".
func checkFile(ctx context.Context, file string) (wrote int, err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", "file:"+escapePath(path)+"?mode=rw")
	if err != nil {
		return 0, fmt.Errorf("cannot be opened: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	var tables int
	err = db.QueryRowContext(ctx,
		`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('namespaces', 'executions')`).Scan(&tables)
	if err != nil {
		return 0, fmt.Errorf("is damaged or not an SQLite database: %w", err)
	}
	if tables != 2 {
		return 0, errors.New("is an SQLite database without Temporal's tables")
	}

	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&wrote); err != nil {
		return 0, fmt.Errorf("is damaged: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var verdict string
	err = db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict)
	switch {
	case ctx.Err() != nil:
		return wrote, nil
	case err != nil:
		return 0, fmt.Errorf("is damaged: %w", err)
	case verdict != "ok":
		return 0, fmt.Errorf("is damaged: %s", strings.Join(strings.Fields(verdict), " "))
	}
	return wrote, nil
}
