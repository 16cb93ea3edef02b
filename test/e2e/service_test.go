// Package e2e tests the built program in the way its users do: an application uses HTTP, signers use the links in their
// emails, and an operator uses the commands.
package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/internal/inbox"
	"countersign/test/kit"
)

// service is a running Countersign service, as seen by its clients.
type service struct {
	BaseURL      string `json:"baseUrl"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	InboxURL     string `json:"inboxUrl"`
	UI           string `json:"temporalUiUrl"`

	dataDir string

	tokens []string // issued access tokens

	// The following fields are set only for a service in separate processes.
	env         []string
	api, worker *process
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("COUNTERSIGN_TEST_PROGRAM"), "../../bin/countersign"))
	require.NoError(t, err)
	require.FileExists(t, path, `run "make build" first`)
	return path
}

// process is a running command of the program. It is stopped when the test ends.
type process struct {
	cmd *exec.Cmd
	out *kit.Buffer
}

func command(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), binary(t), args...), out: &kit.Buffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := command(t, env, args...)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(args, " "), p.out)
		}
	})
	return p
}

// stop stops the process in the same way as Ctrl-C, and waits until it has exited.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt) // the process may have exited already
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Errorf("%v did not stop and was killed", p.cmd.Args)
		_ = p.cmd.Process.Kill()
		<-done
	}
}

// run runs a command, and returns its output after it has exited.
func run(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	p := command(t, env, args...)
	err := p.cmd.Run()
	return p.out.String(), err
}

const waitTimeout = 60 * time.Second

// eventually polls until check returns true.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	require.Eventually(t, check, waitTimeout, 50*time.Millisecond, what)
}

// dev starts all parts of the service in one process, with SQLite.
func dev(t *testing.T, dir string, env ...string) (*service, *process) {
	t.Helper()
	p := start(t, env, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir)
	s := &service{dataDir: dir}
	eventually(t, "demo.json", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "demo.json"))
		return err == nil && strings.Contains(p.out.String(), "is ready") && json.Unmarshal(b, s) == nil
	})
	ready(t, s.BaseURL)
	return s, p
}

func ready(t *testing.T, base string) {
	t.Helper()
	eventually(t, "readyz", func() bool {
		res, err := get(t, base+"/readyz")
		return err == nil && res == http.StatusOK
	})
}

func get(t *testing.T, url string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// production runs migrate, api and worker as separate processes with PostgreSQL. The given settings override the
// default ones.
func production(t *testing.T, settings ...string) *service {
	t.Helper()
	dir := t.TempDir()
	box, err := inbox.Open(filepath.Join(dir, "inbox"), func() time.Time { return time.Now().UTC() })
	require.NoError(t, err)
	smtp := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { _ = box.ServeSMTP(ctx, smtp) }() // stopped at the end of the test
	page := httptest.NewServer(box.Handler())
	t.Cleanup(page.Close)

	// The dev environment creates the keys in a data directory. In production, the operator provides such files.
	made, err := run(t, nil, "app", "create", "--data-dir", filepath.Join(dir, "keys"), "--name", "unused", "--plan", "free", "--json")
	require.NoError(t, err, made)
	keys := filepath.Join(dir, "keys", "keys")
	tmp := kit.Temporal(t)
	address := kit.FreeAddress(t)
	env := []string{
		"COUNTERSIGN_LISTEN=" + address, "COUNTERSIGN_DATABASE_URL=" + kit.Postgres(t), "COUNTERSIGN_BLOB_URL=file://" + filepath.Join(dir, "files"),
		"COUNTERSIGN_TEMPORAL_ADDRESS=" + tmp.HostPort, "COUNTERSIGN_TEMPORAL_NAMESPACE=" + tmp.Namespace,
		"COUNTERSIGN_SMTP_URL=smtp://" + smtp.Addr().String() + "?tls=none", "COUNTERSIGN_SMS_URL=" + strings.Replace(page.URL, "http://", "http://ACx:y@", 1) + "/2010-04-01/Accounts/ACx/Messages.json?From=%2B15005550006",
		"COUNTERSIGN_MAIL_FROM=Countersign <sign@example.com>", "COUNTERSIGN_WEBHOOK_ALLOW_PRIVATE=true",
		"COUNTERSIGN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
		"COUNTERSIGN_SEAL_KEY=" + filepath.Join(keys, "seal.key.pem"), "COUNTERSIGN_SEAL_CERT=" + filepath.Join(keys, "seal.cert.pem"),
		"COUNTERSIGN_METRICS_LISTEN=127.0.0.1:0", "COUNTERSIGN_RATE_LIMIT=6000",
	}
	env = append(env, settings...)
	out, err := run(t, env, "api")
	require.Error(t, err)
	require.Contains(t, out, "countersign migrate", "a database that is not up to date must be rejected")
	out, err = run(t, env, "migrate")
	require.NoError(t, err, out)
	// The API needs no sealing key.
	unsealed := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "COUNTERSIGN_SEAL_") })
	s := &service{BaseURL: "http://" + address, InboxURL: page.URL, env: env, api: start(t, unsealed, "api"), worker: start(t, env, "worker")}
	ready(t, s.BaseURL)
	s.newApp(t, env, "enterprise")
	return s
}

// newApp creates the app that s uses.
func (s *service) newApp(t *testing.T, env []string, plan string, args ...string) {
	t.Helper()
	out, err := run(t, env, append([]string{"app", "create", "--name", "Acme", "--plan", plan, "--json"}, args...)...)
	require.NoError(t, err, out)
	require.NoError(t, json.Unmarshal([]byte(out), s))
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}
