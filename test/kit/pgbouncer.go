package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// PgBouncer is a private PgBouncer in transaction mode. After each transaction, a client may be assigned another
// connection to the server, so a connection must not retain any state.
type PgBouncer struct {
	// URL is the postgres:// URL of PgBouncer, including the required query mode.
	URL string

	*guarded
	port       int
	credential *syscall.Credential
}

// pgbouncerConfig uses the minimum number of server connections with which tests can run in parallel, so that clients
// often change connections.
const pgbouncerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
admin_users = postgres
pool_mode = transaction
default_pool_size = 4
max_client_conn = 2000
server_idle_timeout = 5
server_login_retry = 1
`

// StartPgBouncer starts the installed program as a proxy for the server at the given postgres:// URL. It stops when
// Stop is called or this process exits.
func StartPgBouncer(ctx context.Context, server string) (*PgBouncer, error) {
	program, err := exec.LookPath("/usr/sbin/pgbouncer")
	if err != nil {
		return nil, errors.New("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the server's address is not a URL")
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	port, err := FreePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "countersign-pgbouncer-")
	if err != nil {
		return nil, fmt.Errorf("create PgBouncer's directory: %w", err)
	}
	password, _ := u.User.Password()
	b := &PgBouncer{port: port, credential: credential}
	err = errors.Join(
		b.write(filepath.Join(dir, "users"), strconv.Quote(u.User.Username())+" "+strconv.Quote(password)+"\n"),
		b.configure(dir, u),
		handOver(dir, credential),
	)
	if err == nil {
		b.guarded, err = startGuarded(ctx, dir, credential, "TERM", program, "--quiet", configPath(dir))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start PgBouncer: %w", err), os.RemoveAll(dir))
	}
	q := u.Query()
	q.Set("default_query_exec_mode", "cache_describe")
	u.Host, u.RawQuery = net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), q.Encode()
	b.URL = u.String()
	err = pollUntil(ctx, b.ended, func() error {
		conn, err := pgx.Connect(ctx, b.URL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) //nolint:gosec // in a temporary directory
		return nil, errors.Join(fmt.Errorf("start PgBouncer: %w: %s", err, lastLine(log)), b.Stop(ctx))
	}
	return b, nil
}

// Point redirects PgBouncer to another server with the same users. Clients that are waiting for a connection then
// receive one to that server.
func (b *PgBouncer) Point(server string) error {
	u, err := url.Parse(server)
	if err != nil {
		return errors.New("the server's address is not a URL")
	}
	if err := b.configure(b.dir, u); err != nil {
		return fmt.Errorf("switch PgBouncer to another server: %w", err)
	}
	return b.signal(syscall.SIGHUP)
}

func configPath(dir string) string { return filepath.Join(dir, "pgbouncer.ini") }

func (b *PgBouncer) configure(dir string, server *url.URL) error {
	return b.write(configPath(dir), fmt.Sprintf(pgbouncerConfig, server.Hostname(), server.Port(), b.port, filepath.Join(dir, "users")))
}

func (b *PgBouncer) write(path, content string) error {
	return errors.Join(os.WriteFile(path, []byte(content), 0o600), handOver(path, b.credential))
}
