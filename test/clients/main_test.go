// Package clients_test tests the client libraries against the built program.
package clients_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/test/kit"
)

// service is a running Countersign service.
type service struct {
	BaseURL      string `json:"baseUrl"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	InboxURL     string `json:"inboxUrl"`

	dir string // data directory
}

func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("COUNTERSIGN_TEST_PROGRAM"), "../../bin/countersign"))
	require.NoError(t, err)
	require.FileExists(t, path, `run "make build" first`)
	return path
}

// shared is a service for all tests that do not need their own, because starting a service and its Temporal server
// takes two seconds of CPU time.
var shared struct {
	sync.Mutex

	service
	stop func()
	log  *kit.Buffer
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests spend much of their time waiting for the service, so more tests than usual can run in parallel.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "4")
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
		if err := os.RemoveAll(shared.dir); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// start returns the shared service with a separate app for this test.
func start(t *testing.T) *service {
	t.Helper()
	s := sharedService(t)
	t.Cleanup(func() {
		if log := shared.log.String(); t.Failed() {
			t.Logf("the last output of the shared service: %s", log[max(0, len(log)-10_000):])
		}
	})
	out, err := exec.CommandContext(t.Context(), program(t), "app", "create", "--data-dir", s.dir, "--name", t.Name(), "--plan", "enterprise", "--json").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &s))
	return &s
}

func sharedService(t *testing.T) service {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.stop == nil {
		dir, err := os.MkdirTemp("", "countersign-clients-") //nolint:usetesting // the service outlives the test that starts it
		require.NoError(t, err)
		shared.dir = dir
		var cmd *exec.Cmd
		cmd, shared.log = shared.launch(t, "127.0.0.1:0", "COUNTERSIGN_RATE_LIMIT=100000")
		shared.stop = func() { interrupt(cmd) }
	}
	return shared.service
}

// run runs a service for this test, with its data in dir, until the test ends or the returned function is called.
func (s *service) run(t *testing.T, dir, address string, env ...string) (kill func()) {
	t.Helper()
	s.dir = dir
	_ = os.Remove(filepath.Join(dir, "demo.json"))
	cmd, log := s.launch(t, address, env...)
	t.Cleanup(func() {
		interrupt(cmd)
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// launch starts the built program with SQLite and all parts in one process, and waits until it is ready.
func (s *service) launch(t *testing.T, address string, env ...string) (*exec.Cmd, *kit.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program(t), "dev", "--listen", address, "--data-dir", s.dir)
	cmd.Env = append(os.Environ(), env...)
	log := &kit.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(s.dir, "demo.json"))
		return err == nil && json.Unmarshal(b, s) == nil && s.InboxURL != ""
	}, time.Minute, 50*time.Millisecond)
	return cmd, log
}

// interrupt stops the program in the same way as Ctrl-C, unless it has already exited.
func interrupt(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
}

func (s *service) client(t *testing.T) *countersign.Client {
	t.Helper()
	c, err := countersign.New(s.BaseURL, s.ClientID, s.ClientSecret)
	require.NoError(t, err)
	return c
}

// env returns the environment for the TypeScript tests and the command line.
func (s *service) env() []string {
	return append(os.Environ(), "COUNTERSIGN_URL="+s.BaseURL, "COUNTERSIGN_CLIENT_ID="+s.ClientID, "COUNTERSIGN_CLIENT_SECRET="+s.ClientSecret,
		"COUNTERSIGN_TENANT=acme")
}
