package faults_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"countersign/internal/failpoint"
	"countersign/internal/inbox"
	"countersign/internal/vault"
	"countersign/store"
	"countersign/test/kit"
)

// setting configures a scenario. The zero value selects the servers that other tests share, with a separate database
// and namespace.
type setting struct {
	postgres  string   // URL of an empty database
	temporal  string   // host:port
	namespace string   // namespace on that server
	files     string   // directory of the file store
	env       []string // additional environment variables
}

// scenario is a service that runs in separate processes, together with its environment.
type scenario struct {
	t      *testing.T
	env    []string
	dir    string
	files  string // directory of the file store
	faults string // directory of faults; see failpoint
	apis   []string

	temporal, namespace string // host:port, and the namespace on it

	db    *pgxpool.Pool
	store *store.Store // reads the service's data directly
	inbox *inbox.Inbox
	smtp  *smtpRelay // between the service and the inbox
	hooks *webhookSink

	appID    uuid.UUID // ID of the app in the database
	clientID string
	secret   string
	client   *client

	mu        sync.Mutex
	log       strings.Builder // output of all processes
	envelopes []*envelope
	cutOff    int // number of emails whose sending may have been interrupted
}

func newScenario(t *testing.T, s setting) *scenario {
	t.Helper()
	w := &scenario{t: t, dir: t.TempDir(), files: s.files}
	var err error
	w.inbox, err = inbox.Open(filepath.Join(w.dir, "inbox"), clock)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	server := listen(t)
	go func() { _ = w.inbox.ServeSMTP(ctx, server) }() // stopped at the end of the test
	w.smtp = newSMTPRelay(t, server.Addr().String())
	w.hooks = newWebhookSink(t)
	if s.postgres == "" {
		s.postgres = kit.Postgres(t)
	}
	if s.temporal == "" {
		opts := kit.Temporal(t)
		s.temporal, s.namespace = opts.HostPort, opts.Namespace
	}
	w.temporal, w.namespace = s.temporal, s.namespace
	if w.files == "" {
		w.files = filepath.Join(w.dir, "files")
	}
	w.faults = filepath.Join(w.dir, "faults")
	require.NoError(t, os.Mkdir(w.faults, 0o700))
	master := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	w.env = append([]string{
		"COUNTERSIGN_DATABASE_URL=" + s.postgres, "COUNTERSIGN_BLOB_URL=file://" + w.files,
		"COUNTERSIGN_BASE_URL=http://sign.test", "COUNTERSIGN_TEMPORAL_ADDRESS=" + s.temporal, "COUNTERSIGN_TEMPORAL_NAMESPACE=" + s.namespace,
		"COUNTERSIGN_SMTP_URL=smtp://" + w.smtp.address + "?tls=none", "COUNTERSIGN_MAIL_FROM=Countersign <sign@example.com>",
		"COUNTERSIGN_WEBHOOK_ALLOW_PRIVATE=true", "COUNTERSIGN_WEBHOOK_SCHEDULE=0s,1s,1s,1s,1s", "COUNTERSIGN_RATE_LIMIT=1000000",
		"COUNTERSIGN_MASTER_KEY=" + master, "COUNTERSIGN_LOG_LEVEL=warn",
		"COUNTERSIGN_SEAL_KEY=" + filepath.Join(failpointKeys, "seal.key.pem"), "COUNTERSIGN_SEAL_CERT=" + filepath.Join(failpointKeys, "seal.cert.pem"),
		failpoint.Variable + "=" + w.faults,
	}, s.env...)
	w.run("migrate")
	var app struct{ ClientID, ClientSecret string }
	require.NoError(t, json.Unmarshal(w.run("app", "create", "--name", "Faults", "--plan", "enterprise", "--json"), &app))
	w.clientID, w.secret = app.ClientID, app.ClientSecret

	v, err := vault.New(master)
	require.NoError(t, err)
	w.store, err = store.Open(ctx, store.Config{URL: s.postgres, Vault: v, MaxConns: 4, Now: clock, NewID: uuid.New})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.store.Close() })
	found, err := w.store.AppByAnyID(ctx, uuid.MustParse(app.ClientID))
	require.NoError(t, err)
	w.appID = found.ID
	w.db, err = pgxpool.New(ctx, s.postgres)
	require.NoError(t, err)
	t.Cleanup(w.db.Close)
	w.client = newClient(w)
	t.Cleanup(func() {
		if t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Logf("last output of the processes:\n%s", lastLines(w.log.String(), 80))
		}
	})
	return w
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func clock() time.Time { return time.Now().UTC() }

// Write appends the output of the processes to the log.
func (w *scenario) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// run runs a command and returns its output after it has exited.
func (w *scenario) run(args ...string) []byte {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), built, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), w.env...), w
	out, err := cmd.Output()
	require.NoError(w.t, err, "%v: %s", args, out)
	return out
}

// process is an API or a worker.
type process struct {
	w       *scenario
	program string // if empty, the tested program
	args    []string
	env     []string
	stdout  *os.File // if nil, the log
	cmd     *exec.Cmd
	ended   chan struct{}
}

// api starts an API, and waits until it responds.
func (w *scenario) api() *process {
	w.t.Helper()
	address := kit.FreeAddress(w.t)
	w.mu.Lock()
	w.apis = append(w.apis, "http://"+address)
	w.mu.Unlock()
	p := &process{w: w, args: []string{"api"}, env: []string{"COUNTERSIGN_LISTEN=" + address}}
	p.start()
	p.waitHealthy()
	return p
}

func (p *process) waitHealthy() {
	p.w.t.Helper()
	base := "http://" + strings.TrimPrefix(p.env[0], "COUNTERSIGN_LISTEN=")
	eventually(p.w.t, func() bool {
		status, _, err := p.w.client.once(p.w.t.Context(), http.MethodGet, base+"/healthz", nil, nil)
		return err == nil && status == http.StatusOK
	}, "the API did not start")
}

func (w *scenario) worker() *process {
	w.t.Helper()
	p := &process{w: w, args: []string{"worker"}}
	p.start()
	return p
}

// start starts APIs and workers, logs the client in, and subscribes the client to all events.
func (w *scenario) start(apis, workers int) {
	w.t.Helper()
	for range apis {
		w.api()
	}
	for range workers {
		w.worker()
	}
	w.login()
	w.subscribe("/all")
}

// start starts or restarts the process.
func (p *process) start() {
	p.w.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(p.w.t.Context()), cmp.Or(p.program, built), p.args...)
	cmd.Env = append(append(os.Environ(), p.w.env...), p.env...)
	cmd.Stdout, cmd.Stderr = p.w, p.w
	if p.stdout != nil {
		cmd.Stdout = p.stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(p.w.t, cmd.Start())
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() {
		err := cmd.Wait()
		_, _ = fmt.Fprintf(p.w, "%v has ended: %v\n", p.args, err)
		close(ended)
	}()
	p.w.t.Cleanup(p.kill)
}

// kill kills the process like kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the process may have exited already
	<-p.ended
}

// stop stops the process with a clean shutdown.
func (p *process) stop() {
	p.w.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.waitDead()
}

// waitDead waits until the process has exited, for example at a failpoint.
func (p *process) waitDead() {
	p.w.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(waitTimeout):
		require.Fail(p.w.t, "the process is still running", "%v", p.args)
	}
}

// set enables a fault at a failpoint, or disables it if fault is empty.
func (w *scenario) set(place, fault string) {
	w.t.Helper()
	path := filepath.Join(w.faults, place)
	if fault == "" {
		if err := os.Remove(path); err != nil {
			require.ErrorIs(w.t, err, os.ErrNotExist)
		}
		return
	}
	require.NoError(w.t, os.WriteFile(path+".new", []byte(fault), 0o600))
	require.NoError(w.t, os.Rename(path+".new", path))
}

// exec executes a statement in the service's database.
func (w *scenario) exec(statement string, args ...any) {
	w.t.Helper()
	_, err := w.db.Exec(w.t.Context(), statement, args...)
	require.NoError(w.t, err, statement)
}

// count returns the number that a query selects.
func (w *scenario) count(query string, args ...any) (n int) {
	w.t.Helper()
	require.NoError(w.t, w.db.QueryRow(w.t.Context(), query, args...).Scan(&n), query)
	return n
}

func (w *scenario) invitations() int {
	w.t.Helper()
	return w.count("SELECT count(*) FROM mails WHERE kind = 'invitation' AND sent_at IS NOT NULL")
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// logged reports whether a process logged a string.
func (w *scenario) logged(text string) bool { return w.times(text) > 0 }

// times returns the number of times that the processes have logged a string.
func (w *scenario) times(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}
