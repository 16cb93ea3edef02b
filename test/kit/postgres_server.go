package kit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions configures a private PostgreSQL server.
type PostgresOptions struct {
	// Durable enables fsync and stores the data on disk, which measurements require. Otherwise no operation waits for
	// the disk, and commits survive a crash of the server, but not of the machine.
	Durable bool
	// Statements enables statistics for each statement in the view pg_stat_statements.
	Statements bool
}

// PostgresServer is a private PostgreSQL server on a free loopback port. Its data directory is removed when the
// server stops.
type PostgresServer struct {
	// URL is the postgres:// URL of the database "postgres" for the superuser.
	URL string

	*guarded
}

// portAttempts is the maximum number of attempts to start the server. Another attempt is needed when another process
// takes the chosen port first.
const portAttempts = 3

// StartPostgres starts a server from the binaries in $PATH or the newest of Debian's packages. If this process runs as
// root, the server runs as the user postgres or nobody, because PostgreSQL refuses to run as root. The server stops
// when Stop is called or this process exits for any reason.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*PostgresServer, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(dataParent(opts), "countersign-postgres-")
	if err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	s, err := startPostgresIn(ctx, dir, bin, credential, opts)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func startPostgresIn(
	ctx context.Context, dir, bin string, credential *syscall.Credential, opts PostgresOptions,
) (*PostgresServer, error) {
	if err := handOver(dir, credential); err != nil {
		return nil, err
	}
	password := rand.Text()
	if err := initDatabase(ctx, dir, bin, password, credential); err != nil {
		return nil, err
	}
	return launchOnFreePort(ctx, dir, bin, password, credential, opts)
}

// launchOnFreePort starts a server with the given data directory on a free port.
func launchOnFreePort(
	ctx context.Context, dir, bin, password string, credential *syscall.Credential, opts PostgresOptions,
) (*PostgresServer, error) {
	var failure error
	for range portAttempts {
		s, err := launchPostgres(ctx, dir, bin, password, credential, opts)
		if err == nil {
			return s, nil
		}
		failure = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

// initDatabase creates the cluster. Connections require the password, because other users of this machine can connect
// to a loopback port.
func initDatabase(ctx context.Context, dir, bin, password string, credential *syscall.Credential) error {
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return fmt.Errorf("write password file: %w", err)
	}
	defer func() { _ = os.Remove(secret) }()
	if err := handOver(secret, credential); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), //nolint:gosec // an installed program
		"--pgdata", filepath.Join(dir, "data"), "--username", "postgres", "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLine(out))
	}
	return nil
}

func launchPostgres(
	ctx context.Context, dir, bin, password string, credential *syscall.Credential, opts PostgresOptions,
) (*PostgresServer, error) {
	port, err := FreePort(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{
		filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + dir,
		"-c", "max_connections=300", "-c", "timezone=UTC", "-c", "log_timezone=UTC",
		"-c", "max_wal_size=256MB",
	}
	if !opts.Durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	if opts.Statements {
		args = append(args, "-c", "shared_preload_libraries=pg_stat_statements")
	}
	running, err := startGuarded(ctx, dir, credential, "QUIT", args...)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s := &PostgresServer{
		URL: (&url.URL{
			Scheme: "postgres", User: url.UserPassword("postgres", password),
			Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres",
			RawQuery: "sslmode=disable",
		}).String(),
		guarded: running,
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w: %s", err, lastLine([]byte(s.Log()))), s.Stop(ctx))
	}
	return s, nil
}

func (s *PostgresServer) waitReady(ctx context.Context) error {
	return pollUntil(ctx, s.ended, func() error {
		conn, err := pgx.Connect(ctx, s.URL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// memoryDir is the in-memory file system of Linux, where creating a database takes 20 ms instead of 120 ms.
const (
	memoryDir     = "/dev/shm"
	memoryMinimum = 1 << 30 // free bytes; containers often have only 64 MB
)

// dataParent returns the parent of the data directory. It is in memory if there is enough space and the data need not
// be durable. Otherwise, or if TMPDIR is set, the result is empty, which means the default directory for temporary
// files.
func dataParent(opts PostgresOptions) string {
	var fs syscall.Statfs_t
	if opts.Durable || os.Getenv("TMPDIR") != "" || syscall.Statfs(memoryDir, &fs) != nil {
		return ""
	}
	if fs.Bavail < memoryMinimum/uint64(fs.Bsize) { //nolint:gosec // a block size is positive
		return ""
	}
	return memoryDir
}

// postgresBin returns the directory of initdb and postgres, which is not in $PATH on Debian.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("initdb is not installed (Debian: apt-get install postgresql)")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return postgresMajor(a) - postgresMajor(b) })
	return filepath.Dir(newest), nil
}

// postgresMajor returns the major version in a path, for example 15 for /usr/lib/postgresql/15/bin/initdb.
func postgresMajor(initdb string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return major
}

// unprivileged returns the credential for running PostgreSQL. It is nil, which means the current account, unless the
// current account is root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // usually the account does not change
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL cannot run as root, and neither of the accounts postgres and nobody exists")
}

// handOver changes the owner of a file or directory to the server's account.
func handOver(path string, credential *syscall.Credential) error {
	if credential == nil {
		return nil
	}
	if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
		return fmt.Errorf("change the owner to the server's account: %w", err)
	}
	return nil
}

// pollUntil calls ready until it succeeds. If ctx or the server ends first, it returns the last error.
func pollUntil(ctx context.Context, ended <-chan struct{}, ready func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the server exited")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// lastLine returns the last line of a program's output, which contains the error.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1]
}
