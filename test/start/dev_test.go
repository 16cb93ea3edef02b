package start_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// make runs tools/dev in the same way as "make dev", but with a substitute for make, and returns the output. The
// branches of the substitute's case statement are in targets.
func (m *machine) make(t *testing.T, targets string) (string, error) {
	t.Helper()
	for _, name := range []string{"cat", "chmod", "date", "grep", "mkdir", "mktemp", "mv", "nice", "rm", "sleep", "tail", "xargs"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(m.root, "path", name)))
	}
	b, err := os.ReadFile("../../tools/dev")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(m.root, "tools/dev"), b, 0o700))
	require.NoError(t, os.Symlink("/usr/bin/env", filepath.Join(m.root, "path/env")))
	m.install(t, "make", "case \"$2\" in\n"+targets+"\nesac")
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.root, "path/bash"), filepath.Join(m.root, "tools/dev"))
	cmd.Env = []string{"PATH=" + filepath.Join(m.root, "path"), "PREFLIGHT_MEMINFO=" + m.meminfo, "LISTEN=" + freeAddress, "TMPDIR=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDev_StartsTheServiceWhileTemporalIsCompiled checks that "make dev" starts the service while Temporal is still
// being compiled, and prints the duration of each step.
func TestDev_StartsTheServiceWhileTemporalIsCompiled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out, err := m.make(t, `web) ;;
temporal) n=0; while [ ! -e started ] && [ $n -lt 300 ]; do n=$((n+1)); sleep 0.1; done ;;
server) printf '#!/bin/sh\n: >started\necho "$@"\n' >bin/countersign; chmod 700 bin/countersign ;;`)
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?m)^  building pages \d+ s · libraries \d+ s · service \d+ s$`, out)
	require.Regexp(t, `(?m)^dev --listen 127\.0\.0\.1:1 --temporal-build \d+ --build-started \d+$`, out)
}

func TestDev_ShowsWhyAStepFailed(t *testing.T) {
	t.Parallel()
	out, err := newMachine(t).make(t, `web) echo "npm cannot reach the registry"; exit 1 ;;`)
	require.Error(t, err)
	require.Contains(t, out, "The step \"pages\" failed:\nnpm cannot reach the registry\n")
	require.NotContains(t, out, "--listen")
}

// TestDev_ChecksFirst checks that nothing is built if the machine lacks a required program.
func TestDev_ChecksFirst(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.remove(t, "npm")
	out, err := m.make(t, `*) echo built ;;`)
	require.Error(t, err)
	require.Contains(t, out, "npm is missing")
	require.NotContains(t, out, "built")
}
