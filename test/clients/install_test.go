package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInstall_Archive follows the installation page from the archive to a verified document.
func TestInstall_Archive(t *testing.T) {
	t.Parallel()
	blocks := examples(t, "../../docs/run/install.md", "sh")
	require.Len(t, blocks, 2)

	n := newNewcomer(t)
	cmd, out, dir := n.shell(t, "true")
	require.NoError(t, cmd.Run())
	archived := filepath.Join(dir, "countersign_0.0.0_linux_amd64")
	require.NoError(t, os.Mkdir(archived, 0o700))
	require.NoError(t, os.Symlink(program(t), filepath.Join(archived, "countersign")))
	tar := exec.CommandContext(t.Context(), "tar", "-czf", archived+".tar.gz", filepath.Base(archived))
	tar.Dir = dir
	require.NoError(t, tar.Run())
	require.NoError(t, os.RemoveAll(archived))
	// The service is already running.
	unpack := exec.CommandContext(t.Context(), "sh", "-euc", strings.Replace(blocks[0], "./countersign dev", "./countersign version", 1))
	unpack.Dir, unpack.Stdout, unpack.Stderr = dir, out, out
	require.NoError(t, unpack.Run(), "%s", out)

	cmd, out, dir = n.shell(t, blocks[1])
	require.NoError(t, os.Symlink(program(t), filepath.Join(dir, "countersign")))
	require.NoError(t, cmd.Start())
	n.signInvited(t, "you@example.com")
	require.NoError(t, cmd.Wait(), "%s", out)
	require.Contains(t, out.String(), "\nVALID: ")
}
