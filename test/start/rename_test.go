package start_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRename_TheCopyBuilds checks that a copy of the repository with different module paths compiles without further
// changes, and so does its client library.
func TestRename_TheCopyBuilds(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	copied := t.TempDir()
	run := func(dir, name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
	for file := range strings.SplitSeq(strings.TrimRight(run(root, "git", "ls-files", "-z"), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed in the working tree, but not yet committed
		}
		require.NoError(t, err)
		to := filepath.Join(copied, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.WriteFile(to, b, 0o700))
	}
	// This directory contains build output, which is not tracked.
	require.NoError(t, os.CopyFS(filepath.Join(copied, "web", "dist"), os.DirFS(filepath.Join(root, "web", "dist"))))
	run(copied, "git", "init", "--quiet")
	run(copied, "make", "rename", "MODULE=example.org/countersign")
	run(copied, "go", "build", "./...")
	run(copied, "go", "vet", "./config", "./docs") // tests also contain names of packages
	run(filepath.Join(copied, "clients", "go"), "go", "build", "./...")
	require.Contains(t, run(filepath.Join(copied, "clients", "go"), "go", "list", "."), "example.org/countersign/clients/go")
	left := exec.CommandContext(t.Context(), "grep", "-rlE", `"countersign/(api|store|models|clients)`, "--include=*.go", ".")
	left.Dir = copied
	out, _ := left.Output() // grep exits with status 1 if there is no match
	require.Empty(t, string(out))
}
