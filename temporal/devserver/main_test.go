package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roleVariable is the environment variable that makes the test binary run as the program under test.
const roleVariable = "DEVSERVER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "server":
		main()
	case "parent":
		os.Exit(parentMain(os.Args[1:]))
	default:
		os.Exit(m.Run())
	}
}

// parentMain starts a server that stops when this process exits, prints the server's process ID and its readiness line,
// and waits to be killed.
func parentMain(args []string) int {
	cmd := exec.CommandContext(context.Background(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"=server")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("pid", cmd.Process.Pid)
	_ = cmd.Wait()
	_ = stdin.Close()
	return 0
}

type process struct {
	*exec.Cmd
	lines  *bufio.Scanner // lines of the process's standard output
	stderr bytes.Buffer
	stdin  io.WriteCloser
}

func start(t *testing.T, role string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], append([]string{"server", "start-dev"}, args...)...)}
	p.Env = append(os.Environ(), roleVariable+"="+role)
	p.Stderr = &p.stderr
	stdout, err := p.StdoutPipe()
	require.NoError(t, err)
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	p.lines = bufio.NewScanner(stdout)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// ready waits for the readiness line and returns its key-value pairs.
func (p *process) ready(t *testing.T) map[string]string {
	t.Helper()
	for p.lines.Scan() {
		fields := strings.Fields(p.lines.Text())
		if fields[0] != "ready" {
			continue
		}
		pairs := map[string]string{}
		for _, f := range fields[1:] {
			key, value, ok := strings.Cut(f, "=")
			require.True(t, ok, f)
			pairs[key] = value
		}
		return pairs
	}
	_ = p.Wait()
	t.Fatalf("the server printed no readiness line; standard error:\n%s", p.stderr.String())
	return nil
}

func TestReadyLineAndSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "server", "--port", "0", "--db-filename", filepath.Join(t.TempDir(), "t.db"),
				"--namespace", "one", "--namespace", "two")
			ready := p.ready(t)
			require.Equal(t, "one,two", ready["namespaces"])
			require.NoError(t, getOK(t.Context(), ready["ui"]+"/"))
			require.NoError(t, getOK(t.Context(), ready["ui"]+"/api/v1/namespaces/two"))

			require.NoError(t, p.Process.Signal(sig))
			begin := time.Now()
			require.NoError(t, p.Wait(), "exit status 0")
			require.Less(t, time.Since(begin), 10*time.Second)
			require.Empty(t, p.stderr.String(), "an orderly stop logs nothing")
		})
	}
}

func TestServer_StopsWithItsParent(t *testing.T) {
	t.Parallel()

	t.Run("standard input ends", func(t *testing.T) {
		t.Parallel()
		p := start(t, "server", "--port", "0", "--headless", "--watch-stdin")
		p.ready(t)
		require.NoError(t, p.stdin.Close())
		require.NoError(t, p.Wait(), "exit status 0")
	})

	t.Run("kill -9 of the parent", func(t *testing.T) {
		t.Parallel()
		parent := start(t, "parent", "--port", "0", "--headless", "--watch-stdin")
		require.True(t, parent.lines.Scan())
		pid, err := strconv.Atoi(strings.TrimPrefix(parent.lines.Text(), "pid "))
		require.NoError(t, err)
		parent.ready(t)
		require.NoError(t, parent.Process.Kill())
		require.Eventually(t, func() bool { return !alive(pid) }, 15*time.Second, 50*time.Millisecond)
	})

	t.Run("standard input is not watched unasked", func(t *testing.T) {
		t.Parallel()
		p := start(t, "server", "--port", "0", "--headless")
		require.NoError(t, p.stdin.Close())
		ready := p.ready(t)
		require.NotEmpty(t, ready["address"])
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		require.NoError(t, p.Wait())
	})
}

// alive reports whether a process is running. A zombie process does not count as running.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(state, []byte("Z"))
}

func TestFailedStart(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	_, port, _ := strings.Cut(taken.Addr().String(), ":")

	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	sound := filepath.Join(dir, "sound.db")
	require.NoError(t, createFile(t.Context(), sound))
	content, err := os.ReadFile(sound)
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"port taken":      {[]string{"--port", port}, 1, "the frontend: port " + port + " on 127.0.0.1 is already in use"},
		"UI port taken":   {[]string{"--port", "0", "--ui-port", port}, 1, "the Web UI: port " + port},
		"foreign address": {[]string{"--ip", "192.0.2.1", "--port", "0"}, 1, "cannot be used"},
		"no directory":    {[]string{"--db-filename", filepath.Join(dir, "none", "t.db")}, 1, "no such file or directory"},
		"directory":       {[]string{"--db-filename", dir}, 1, "is not a regular file"},
		"not a database":  {[]string{"--db-filename", write("text.db", []byte("not a database at all"))}, 1, "is damaged or not an SQLite database"},
		"cut database":    {[]string{"--db-filename", write("cut.db", content[:len(content)/2])}, 1, "is damaged"},
		"other database":  {[]string{"--db-filename", write("other.db", otherDatabase(t))}, 1, "without Temporal's tables"},
		"unknown flag":    {[]string{"--no-such-flag"}, 2, "no-such-flag"},
		"bad address":     {[]string{"--ip", "localhost"}, 2, "ip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "server", tc.args...)
			require.False(t, p.lines.Scan(), "standard output must be empty")
			var exit *exec.ExitError
			require.ErrorAs(t, p.Wait(), &exit)
			require.Equal(t, tc.status, exit.ExitCode())
			require.Contains(t, p.stderr.String(), tc.says)
			require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "one line:\n%s", p.stderr.String())
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Equal(t, 2, run(nil, nil, &out, &errs))
	require.Contains(t, errs.String(), "--db-filename"[1:])
	require.Empty(t, out.String())

	require.Zero(t, run([]string{"server", "start-dev", "--help"}, nil, &out, &errs))
	require.Zero(t, run([]string{"version"}, nil, &out, &errs))
	require.Contains(t, out.String(), "Temporal server")
}
