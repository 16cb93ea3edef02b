package testkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// temporalBinary is the bundled Temporal server, relative to the module's root.
const temporalBinary = "bin/countersign-temporal"

// TemporalServer is a private Temporal dev server on free loopback ports, with its state in memory.
type TemporalServer struct {
	// Address is the host:port of the frontend.
	Address string

	cmd    *exec.Cmd
	stdin  io.Closer
	stderr tail
	ended  chan struct{} // closed when the process has ended
}

// StartTemporal starts the server that "make build" puts into bin/. It stops with Stop or with this
// process, however it ends.
func StartTemporal(ctx context.Context) (*TemporalServer, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, temporalBinary)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s is missing: run \"make build\" first", temporalBinary)
	}

	// Not bound to ctx: it has to outlive the start, and ends with its standard input.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, //nolint:gosec // our own program
		"server", "start-dev", "--port", "0", "--headless", "--watch-stdin", "--log-level", "error")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests; this one follows them
	s := &TemporalServer{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &s.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if s.stdin, err = cmd.StdinPipe(); err != nil {
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
			if rest, ok := strings.CutPrefix(lines.Text(), "ready address="); ok {
				address, _, _ := strings.Cut(rest, " ")
				ready <- address
			}
		}
		_ = cmd.Wait()
	}()

	select {
	case address, ok := <-ready:
		if !ok {
			<-s.ended
			return nil, fmt.Errorf("start Temporal: it ended: %s", lastLine(s.stderr.bytes()))
		}
		s.Address = address
		return s, nil
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", ctx.Err()), cmd.Process.Kill())
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// tailSize is how much of a server's log a failure may need, in bytes.
const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept)
}

// Stop ends the server and waits for it, about 2 s.
func (s *TemporalServer) Stop(ctx context.Context) error {
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop Temporal: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop Temporal: %w", ctx.Err())
	}
}

// moduleRoot is the directory of the main module's go.mod, above the working directory: "go test"
// runs a test in its package's directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // above the working directory
		if err == nil && bytes.HasPrefix(content, []byte("module countersign\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod of countersign above the working directory")
		}
		dir = parent
	}
}
