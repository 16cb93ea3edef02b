package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoReadme_ReplaceWorksAsWritten runs the README's commands for creating a module that uses the library, and then
// the README's program.
func TestGoReadme_ReplaceWorksAsWritten(t *testing.T) {
	t.Parallel()
	const readme = "../../clients/go/README.md"
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(examples(t, readme, "go")[0]), 0o600))
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", examples(t, readme, "sh")[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COUNTERSIGN="+root, "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(dir, "signing"))
}
