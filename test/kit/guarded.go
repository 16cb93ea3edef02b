package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// guard runs a server ("$2" …) in the directory $0 until standard input is closed. It then sends the signal $1 to the
// server and removes the directory. The kernel closes standard input when the test process exits, even after SIGKILL.
// If the server exits while the file "down" exists, it is restarted when the file is removed (see Crash).
const guard = `
exec 3<&0 </dev/null
stop=$1; shift
{ cat <&3 >/dev/null; : >"$0/over"; rm -f "$0/down"; kill -"$stop" "$(cat "$0/pid")" 2>/dev/null; } &
exec 3<&-
while
  "$@" >>"$0/log" 2>&1 3<&- &
  echo $! >"$0/pid"
  wait $!
  [ -e "$0/down" ]
do
  while [ -e "$0/down" ]; do sleep 0.05; done
  [ ! -e "$0/over" ] || break
done
cd / && rm -rf "$0"
`

// guarded is a server that runs in its own directory and is stopped when this process exits.
type guarded struct {
	dir   string
	stdin io.Closer
	ended chan struct{} // closed when the server has exited and its directory has been removed
}

// startGuarded starts a program in dir with the given credential. The program's output is written to the file "log".
// The signal in stop, for example "QUIT", must stop the program immediately.
func startGuarded(ctx context.Context, dir string, credential *syscall.Credential, stop string, command ...string) (*guarded, error) {
	// The command does not use ctx, because the server must keep running after the start. It stops when its standard
	// input is closed.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", append([]string{"-c", guard, dir, stop}, command...)...) //nolint:gosec // an installed program
	cmd.Dir = dir
	// Use a separate process group, because Ctrl-C in the terminal must not stop the guard before it has cleaned up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &guarded{dir: dir, stdin: stdin, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(g.ended)
	}()
	return g, nil
}

// Stop stops the server immediately and removes its directory.
func (g *guarded) Stop(ctx context.Context) error {
	if err := g.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop server: %w", err)
	}
	select {
	case <-g.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop server: %w", ctx.Err())
	}
}

// Log returns the server's output, or an empty string once the server has stopped.
func (g *guarded) Log() string {
	text, _ := os.ReadFile(filepath.Join(g.dir, "log")) // removed with the directory
	return string(text)
}

// pid returns the process ID of the server.
func (g *guarded) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "pid"))
	if err != nil {
		return 0, fmt.Errorf("server's process: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func (g *guarded) signal(sig syscall.Signal) error {
	pid, err := g.pid()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, sig)
}
