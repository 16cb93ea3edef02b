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

// Bounds of opening a database.
const (
	lockTimeout  = 10 * time.Second // a server that is stopping needs about 3 s
	lockPoll     = 50 * time.Millisecond
	checkTimeout = 2 * time.Second // of the consistency check; a file too large for it is taken as sound
)

// database is the store of one server.
type database struct {
	config     *config.SQL
	visibility *config.SQL // nil: the same
	shards     int32       // of the history
	lock       *os.File    // of an SQLite file; otherwise nil
}

// openDatabase prepares the file and gives its configuration: creates it with Temporal's schema if
// it is missing or empty, refuses one that another server uses, that is damaged or that is
// something else. The file name "" keeps everything in memory.
func openDatabase(ctx context.Context, file string, pragmas map[string]string) (*database, error) {
	if file == "" {
		return &database{shards: 1, config: &config.SQL{
			PluginName:        sqlite.PluginName,
			DatabaseName:      "countersign",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}}, nil
	}

	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { //nolint:gosec // named on the command line
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

// close releases the file for the next server.
func (d *database) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// fileConfig is WAL with one fsync per checkpoint: a crash of the process loses nothing, a power cut
// at most the last moments.
func fileConfig(file string, pragmas map[string]string) *config.SQL {
	attributes := map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "1"}
	maps.Copy(attributes, pragmas)
	return &config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      escapePath(file),
		ConnectAttributes: attributes,
	}
}

// escapePath makes a path safe in an SQLite URI file name (sqlite.org/uri.html, 3.1).
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// lockFile takes an exclusive lock beside file, so that two servers never share one: their shard
// would change hands at every write. It waits for a predecessor that is still stopping.
func lockFile(ctx context.Context, file string) (*os.File, error) {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // named on the command line
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

// prepareFile ensures a valid file with Temporal's schema, or returns an error that describes the problem.
func prepareFile(ctx context.Context, file string) error {
	info, err := os.Stat(file) //nolint:gosec // named on the command line
	switch {
	case errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() == 0):
		if err := createFile(ctx, file); err != nil {
			return fmt.Errorf("create database file %s: %w", file, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("database file: %w", err)
	}

	f, err := os.OpenFile(file, os.O_RDWR, 0) //nolint:gosec // named on the command line
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
		return fmt.Errorf("move database file %s aside: %w", file, err)
	}
	fmt.Fprintf(os.Stderr, "database file %s is of another version of Temporal and is now %s; Countersign starts its workflows again in a new one\n", file, aside)
	if err := createFile(ctx, file); err != nil {
		return fmt.Errorf("create database file %s: %w", file, err)
	}
	return nil
}

// release is the version of this server as a number, without the patch: 1032 for 1.32.1. Temporal has no migrations for SQLite,
// so a file is used only by the release that created it.
func release() int {
	var major, minor int
	_, _ = fmt.Sscanf(headers.ServerVersion, "%d.%d.", &major, &minor) // TestRelease_IsReadable
	return 1000*major + minor
}

// moveAside renames a file of another release, which nobody uses, and returns its new name.
func moveAside(file string, wrote int) (string, error) {
	aside := fmt.Sprintf("%s.%d.%d", file, wrote/1000, wrote%1000)
	for n := 1; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // beside the file named on the command line
			break
		}
		aside = fmt.Sprintf("%s.%d.%d-%d", file, wrote/1000, wrote%1000, n)
	}
	for _, suffix := range []string{"-wal", "-shm", ""} { // the file last: a move that is cut off is done again
		if err := os.Rename(file+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // see above
			return "", err
		}
	}
	return aside, nil
}

// createFile sets the schema up under another name, so that a start that is cut short never leaves
// half a schema behind.
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
	if err := os.Chmod(tmp, 0o600); err != nil { //nolint:gosec // named on the command line
		return err
	}
	return os.Rename(tmp, file) //nolint:gosec // named on the command line
}

// stamp notes in a new file which release created it.
func stamp(ctx context.Context, file string) (err error) {
	db, err := sql.Open("sqlite", "file:"+escapePath(file)+"?mode=rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", release()))
	return err
}

// withoutPath is the reason inside a path error whose path the message names already.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// checkFile reads the file as SQLite and as Temporal's, and returns the release that created it; 0 if that is not known. Its
// error continues "database file X".
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
