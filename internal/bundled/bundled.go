// Package bundled runs the bundled Temporal server, bin/countersign-temporal,
// as a child process.
package bundled

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Binary is the file name of the server's executable.
const Binary = "countersign-temporal"

// Server is a running server. It exits when Stop is called or when this process exits. The server watches its standard
// input, and therefore exits even if this process crashes.
type Server struct {
	Address string // host:port of the frontend
	UI      string // address of the Web UI; empty if disabled

	cmd    *exec.Cmd
	stdin  io.Closer
	stderr tail
	ended  chan struct{}
}

// startAttempts is the maximum number of attempts to start the server. An attempt fails if another process takes one
// of the chosen ports.
const startAttempts = 3

// Start runs the executable at path with flags for its start-dev command. It returns when the server is healthy or has
// failed.
func Start(ctx context.Context, path string, flags ...string) (*Server, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the bundled Temporal server %s is missing: run \"make build\" first", path)
	}
	for attempt := 1; ; attempt++ {
		s, err := startOnce(ctx, path, flags)
		if err == nil || attempt == startAttempts || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return s, err
		}
	}
}

func startOnce(ctx context.Context, path string, flags []string) (*Server, error) {
	args := append([]string{"server", "start-dev", "--watch-stdin", "--log-level", "error"}, flags...)
	// The command does not use ctx, because the server keeps running after Start returns.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, args...) //nolint:gosec // our own program
	// Ctrl-C must signal only this process, which then stops the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s := &Server{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &s.stderr
	stdout, err1 := cmd.StdoutPipe()
	stdin, err2 := cmd.StdinPipe()
	s.stdin = stdin
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer close(ready)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- rest
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case line, ok := <-ready:
		if !ok {
			<-s.ended
			return nil, fmt.Errorf("start Temporal: %s", s.stderr.lastLine())
		}
		s.read(line)
		return s, nil
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", ctx.Err()), cmd.Process.Kill())
	}
}

// read parses the addresses in a line of the form "address=… ui=… namespaces=…".
func (s *Server) read(line string) {
	for pair := range strings.FieldsSeq(line) {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "address":
			s.Address = value
		case "ui":
			s.UI = value
		}
	}
}

// PID returns the server's process ID.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Ended returns a channel that is closed when the server has exited for any reason.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Err returns an error that describes why the server exited unexpectedly.
func (s *Server) Err() error { return fmt.Errorf("temporal stopped: %s", s.stderr.lastLine()) }

// stopLimit is the time that the server has to exit before it is killed.
const stopLimit = 10 * time.Second

// Stop stops the server and waits until it has exited.
func (s *Server) Stop() error {
	_ = s.stdin.Close() // the server may have exited already
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopLimit):
		return s.Kill()
	}
}

// Kill kills the server, as in a crash, and waits until it has exited.
func (s *Server) Kill() error {
	err := s.cmd.Process.Kill()
	<-s.ended
	return err
}

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "no output"
}
