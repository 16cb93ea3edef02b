// Package start_test checks a new developer's first build and start of the service.
package start_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine simulates the machine that tools/preflight examines. It consists of a copy of the script's directory tree,
// and programs that the test provides.
type machine struct {
	root    string
	meminfo string
}

// newMachine returns a machine that meets all requirements and on which the service has not been built.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{root: t.TempDir()}
	for _, dir := range []string{"bin", "path", "tools"} {
		require.NoError(t, os.Mkdir(filepath.Join(m.root, dir), 0o700))
	}
	for _, name := range []string{"tools/preflight", "go.mod"} {
		b, err := os.ReadFile("../../" + name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(m.root, name), b, 0o700))
	}
	for _, name := range []string{"awk", "bash", "dirname", "sed"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(m.root, "path", name)))
	}
	m.install(t, "go", `case "$1 ${2:-}" in "version ") echo "go version go1.99.0 linux/amd64" ;; "list -e") echo example.org/module ;; "env GOTOOLCHAIN") echo auto ;; "env GOCACHE") echo `+m.root+` ;; esac`)
	m.install(t, "node", "echo v24.1.0")
	m.install(t, "npm", "")
	m.disk(t, 50_000_000)
	m.memory(t, 8_000_000)
	return m
}

// install installs a shell script as a program.
func (m *machine) install(t *testing.T, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "path", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

func (m *machine) remove(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(m.root, "path", name)))
}

// disk sets the free disk space, in KB.
func (m *machine) disk(t *testing.T, kb int) {
	t.Helper()
	m.install(t, "df", fmt.Sprintf("echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'\necho '/dev/sda1 99999999 1 %d 1%% /'", kb))
}

// memory sets the free memory, in KB.
func (m *machine) memory(t *testing.T, kb int) {
	t.Helper()
	m.meminfo = filepath.Join(m.root, "meminfo")
	require.NoError(t, os.WriteFile(m.meminfo, fmt.Appendf(nil, "MemTotal: 99999999 kB\nMemAvailable: %d kB\nSwapFree: 1000 kB\n", kb), 0o600))
}

// preflight returns the output of the check, which is empty if all requirements are met.
func (m *machine) preflight(t *testing.T, address string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.root, "path/bash"), filepath.Join(m.root, "tools/preflight"), address)
	cmd.Env = []string{"PATH=" + filepath.Join(m.root, "path"), "PREFLIGHT_MEMINFO=" + m.meminfo}
	out, err := cmd.CombinedOutput()
	require.Equal(t, len(out) > 0, err != nil, "%s: %v", out, err)
	return strings.TrimSpace(string(out))
}

// freeAddress is an address on which nothing listens.
const freeAddress = "127.0.0.1:1"

func TestPreflight_SuggestsSolutions(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	_, needed, _ := strings.Cut(string(mod), "\ngo ")
	needed, _, _ = strings.Cut(needed, "\n")
	oldGo := func(version, toolchain string) string {
		return `case "$1 ${2:-}" in "version ") echo "go version go` + version + ` linux/amd64" ;; "env GOTOOLCHAIN") echo ` + toolchain + ` ;; esac`
	}
	installGo := "install Go " + needed + " or newer from https://go.dev/dl/."
	installNode := "install Node 20.19 or newer from https://nodejs.org/."
	for name, c := range map[string]struct {
		change func(m *machine)
		want   string
	}{
		"everything is there":      {func(*machine) {}, ""},
		"no Go":                    {func(m *machine) { m.remove(t, "go") }, "Go is missing: " + installGo},
		"a Go that cannot update":  {func(m *machine) { m.install(t, "go", oldGo("1.20.14", "")) }, "Go 1.20.14 is too old: " + installGo},
		"a Go that may not update": {func(m *machine) { m.install(t, "go", oldGo("1.24.4", "local")) }, "Go 1.24.4 is too old: " + installGo},
		"a Go that updates itself": {func(m *machine) { m.install(t, "go", oldGo("1.24.4", "auto")) }, ""},
		"no Node":                  {func(m *machine) { m.remove(t, "node") }, "Node is missing: " + installNode},
		"an old Node":              {func(m *machine) { m.install(t, "node", "echo v18.19.1") }, "Node 18.19.1 is too old: " + installNode},
		"a Node of an old minor":   {func(m *machine) { m.install(t, "node", "echo v20.9.0") }, "Node 20.9.0 is too old: " + installNode},
		"no npm":                   {func(m *machine) { m.remove(t, "npm") }, "npm is missing: install it, as part of Node from https://nodejs.org/ or as the package npm of your system."},
		"little memory":            {func(m *machine) { m.memory(t, 500*1024-1000) }, "500 MB of memory are free, and the first build needs 2000 MB: close other programs, or add swap."},
		"a small disk":             {func(m *machine) { m.disk(t, 700*1024) }, "700 MB of disk are free in ., and the first build needs 4000 MB: remove files there."},
		"a small disk, and all built": {func(m *machine) {
			m.disk(t, 700*1024)
			require.NoError(t, os.WriteFile(filepath.Join(m.root, "bin/countersign"), nil, 0o700))
		}, ""},
	} {
		m := newMachine(t)
		c.change(m)
		require.Equal(t, c.want, m.preflight(t, freeAddress), name)
	}
}

func TestPreflight_NamesEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.remove(t, "go")
	m.remove(t, "node")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	said := strings.Split(m.preflight(t, l.Addr().String()), "\n")
	require.Len(t, said, 3)
	require.Equal(t, "Port "+port+" is taken: stop the program that listens on "+l.Addr().String()+`, or choose another port with "make dev LISTEN=127.0.0.1:8081".`, said[2])
}
