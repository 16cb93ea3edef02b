// Package clients_test has the client libraries talk to the built program.
package clients_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
)

// service is a running Countersign.
type service struct {
	BaseURL      string `json:"baseUrl"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	InboxURL     string `json:"inboxUrl"`
}

func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("COUNTERSIGN_TEST_PROGRAM"), "../../bin/countersign"))
	require.NoError(t, err)
	require.FileExists(t, path, `run "make build" first`)
	return path
}

// start runs the built program, on SQLite and with everything in one process.
func start(t *testing.T, env ...string) *service {
	t.Helper()
	s := &service{}
	s.run(t, t.TempDir(), "127.0.0.1:0", env...)
	return s
}

// run runs the program until the test ends, or until what it returns is called.
func (s *service) run(t *testing.T, dir, address string, env ...string) (kill func()) {
	t.Helper()
	demo := filepath.Join(dir, "demo.json")
	_ = os.Remove(demo)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program(t), "dev", "--listen", address, "--data-dir", dir)
	cmd.Env = append(os.Environ(), env...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(demo)
		return err == nil && json.Unmarshal(b, s) == nil && s.InboxURL != ""
	}, time.Minute, 50*time.Millisecond)
	return func() {
		ended = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (s *service) client(t *testing.T) *countersign.Client {
	t.Helper()
	c, err := countersign.New(s.BaseURL, s.ClientID, s.ClientSecret)
	require.NoError(t, err)
	return c
}

// env is what the TypeScript tests and the command line read.
func (s *service) env() []string {
	return append(os.Environ(), "COUNTERSIGN_URL="+s.BaseURL, "COUNTERSIGN_CLIENT_ID="+s.ClientID, "COUNTERSIGN_CLIENT_SECRET="+s.ClientSecret,
		"COUNTERSIGN_TENANT=acme")
}
