package kit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/crypto/bcrypt"

	"countersign/internal/vault"
	"countersign/store"
)

// PasswordCost is the bcrypt cost in tests. With the default cost, creating an app takes 0.4 s under the race
// detector.
const PasswordCost = bcrypt.MinCost

// MigratedURL creates a database of the given kind with all migrations and no rows. It copies a migrated template,
// because migrating takes 0.1 s, and ten times as long for SQLite under the race detector.
func MigratedURL(t testing.TB, kind string) string {
	t.Helper()
	if kind == "postgres" {
		server := postgresServer(t)
		template, err := postgresTemplate(server)
		if err != nil {
			t.Fatalf("migrated PostgreSQL database for tests: %v", err)
		}
		return createDatabase(t, server, template)
	}
	content, err := sqliteTemplate()
	if err != nil {
		t.Fatalf("migrated SQLite database for tests: %v", err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("migrated SQLite database for tests: %v", err)
	}
	return "sqlite://" + path
}

// sqliteTemplate returns the content of a migrated database file.
var sqliteTemplate = sync.OnceValues(func() (content []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), serverStartTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "countersign-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := migrate(ctx, "sqlite://"+path); err != nil { // closes the database, so that the file contains all changes from the write-ahead log
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // in a temporary directory
})

// templates holds the names of migrated databases by server URL.
var templates struct {
	sync.Mutex

	names map[string]string
}

// templatePrefix is the prefix of a template's name, which continues with the date of its creation and a digest of the
// migrations. All test binaries share the templates of the same day. The first binary that runs on another day removes
// them.
const templatePrefix = "countersign_template_"

func postgresTemplate(server string) (string, error) {
	templates.Lock()
	defer templates.Unlock()
	if name := templates.names[server]; name != "" {
		return name, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverStartTimeout)
	defer cancel()
	digest, err := migrationsDigest()
	if err != nil {
		return "", err
	}
	today := time.Now().UTC() //nolint:forbidigo // templates of earlier days are removed
	name := templatePrefix + today.Format("20060102") + "_" + digest[:16]
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil {
		return "", err
	}
	if !there {
		if err := removeTemplates(ctx, conn, templatePrefix+today.AddDate(0, 0, -1).Format("20060102")); err != nil {
			return "", err
		}
		if err := makeTemplate(ctx, conn, server, name); err != nil {
			return "", err
		}
	}
	if templates.names == nil {
		templates.names = make(map[string]string)
	}
	templates.names[server] = name
	return name, nil
}

// makeTemplate migrates a database and then renames it to its final name, so that a template with that name is always
// complete. If several processes do so concurrently, one of them succeeds.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	u, err := url.Parse(server)
	if err != nil {
		return errors.New("the server's address is not a URL")
	}
	unfinished := "countersign_test_" + rand.Text()
	u.Path = "/" + unfinished
	if _, err := conn.Exec(ctx, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE template0 ENCODING 'UTF8'`, unfinished)); err != nil {
		return err
	}
	err = migrate(ctx, u.String())
	// A database can be renamed or copied only while it has no connections, and PgBouncer keeps connections open for
	// a while.
	for _, statement := range []string{
		fmt.Sprintf(`ALTER DATABASE %q WITH ALLOW_CONNECTIONS false`, unfinished),
		fmt.Sprintf(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s'`, unfinished),
		fmt.Sprintf(`ALTER DATABASE %q RENAME TO %q`, unfinished, name),
	} {
		if err == nil {
			_, err = conn.Exec(ctx, statement)
		}
	}
	if err == nil {
		return nil
	}
	const duplicateDatabase = "42P04"
	var rejection *pgconn.PgError
	if errors.As(err, &rejection) && rejection.Code == duplicateDatabase {
		err = nil
	}
	_, dropErr := conn.Exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS %q WITH (FORCE)`, unfinished))
	return errors.Join(err, dropErr)
}

// removeTemplates drops the templates whose names sort before the given name.
func removeTemplates(ctx context.Context, conn *pgx.Conn, before string) error {
	rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1) AND datname COLLATE "C" < $2`, templatePrefix, before)
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, err := conn.Exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS %q`, name)); err != nil {
			return err
		}
	}
	return nil
}

func migrationsDigest() (string, error) {
	hash, files := sha256.New(), store.Migrations()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

func migrate(ctx context.Context, address string) error {
	v, err := vault.New(masterKey(0))
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{
		URL: address, Vault: v, NewID: uuid.New,
		Now: func() time.Time { return time.Now() }, //nolint:forbidigo // for the migrations' own table
	})
	if err != nil {
		return err
	}
	_, err = s.Migrate(ctx)
	return errors.Join(err, s.Close())
}
