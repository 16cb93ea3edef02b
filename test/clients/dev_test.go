package clients_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// copyProgram copies a program, so that it runs in a directory other than bin/.
func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o700))
}

// TestDevServesWhileTemporalIsCompiled starts the service in the same way as tools/dev. It checks that commands can
// send envelopes without a login while Temporal is being compiled, and that their emails are sent once Temporal is
// running.
func TestDevServesWhileTemporalIsCompiled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	copyProgram(t, program(t), filepath.Join(root, "bin/countersign"))
	temporal, err := filepath.Abs("../../bin/countersign-temporal")
	require.NoError(t, err)
	require.FileExists(t, temporal, `run "make build" first`)
	pdf, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "contract.pdf"), pdf, 0o600))

	shell := `set -m; { until [ -e compile ]; do sleep 0.1; done; ln -s "$0" bin/countersign-temporal; } &
exec bin/countersign dev --listen 127.0.0.1:0 --temporal-build $!`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", shell, temporal)
	cmd.Dir = root
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said kit.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	await := func(text string) {
		require.Eventually(t, func() bool { return strings.Contains(said.String(), text) }, time.Minute, 50*time.Millisecond, "%s", text)
	}
	await("Ctrl-C stops everything")
	require.Contains(t, said.String(), "Temporal is still being compiled.")

	out, err := cliIn(t, root, "send", "contract.pdf", "--to", "ada.lovelace@example.com")
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "sent")
	list, err := cliIn(t, root, "status", strings.Fields(out)[0])
	require.NoError(t, err, "%s", list)
	require.Contains(t, list, "Ada Lovelace")

	require.NoError(t, os.WriteFile(filepath.Join(root, "compile"), nil, 0o600))
	await("emails are sent")
	require.Eventually(t, func() bool {
		mails, err := filepath.Glob(filepath.Join(root, "data/inbox/*.eml"))
		return err == nil && len(mails) == 1
	}, time.Minute, 50*time.Millisecond)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "%s", said.String())
	out, err = cliIn(t, root, "list")
	require.Error(t, err)
	require.Contains(t, out, `start "make dev" and wait until it is ready`)
}

// cliIn runs a command of the program in a directory without a login, and returns its output.
func cliIn(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin/countersign"), args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDev_TemporalBuildFails_IsReported checks that the service keeps running and reports the path of the log if
// Temporal cannot be compiled.
func TestDev_TemporalBuildFails_IsReported(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	copyProgram(t, program(t), filepath.Join(root, "bin/countersign"))
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `set -m
		{ for ((i = 0; i < 1200; i++)); do [ ! -e data/demo.json ] || break; sleep 0.05; done; false; } & # the shell would reap what ends before exec
		exec bin/countersign dev --listen 127.0.0.1:0 --temporal-build $!`)
	cmd.Dir = root
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said kit.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "see bin/temporal.log") }, time.Minute, 50*time.Millisecond)
	b, err := os.ReadFile(filepath.Join(root, "data/demo.json"))
	require.NoError(t, err)
	s := &service{}
	require.NoError(t, json.Unmarshal(b, s))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/readyz?for=requests", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	b, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", bytes.TrimSpace(b))
}
