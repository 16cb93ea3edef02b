package appearance_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

// hashesIn runs this program in a new process with the given environment, to render the pinned pages. It returns the
// output of the process.
func hashesIn(t *testing.T, dir string, environment ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, hashArgument, dir)
	cmd.Env = environment
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(t, cmd.Run(), problems.String())
	return out.String()
}

// pinnedHashes returns the expected output of hashesIn.
func pinnedHashes(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"form", "scan", "text"} {
		for _, h := range pinned(t)[name].levels {
			out.WriteString(h + "\n")
		}
	}
	return out.String()
}

func TestRender_InOtherEnvironments_IsTheSame(t *testing.T) {
	t.Parallel()
	_, err := engine() // compiles the module
	require.NoError(t, err)
	want := pinnedHashes(t)
	assert.Equal(t, want, hashesIn(t, cacheDir(), "GOMAXPROCS=1", "TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8"))
	assert.Equal(t, want, hashesIn(t, cacheDir(), "GOMAXPROCS=4", "GOGC=1", "GOMEMLIMIT=32MiB"), "hashes in a process with little memory")
}

// TestRender_WithoutCacheAndInterpreted_IsTheSame checks that the hashes are the same if the module is compiled without
// a cache or is interpreted.
func TestRender_WithoutCacheAndInterpreted_IsTheSame(t *testing.T) {
	t.Parallel()
	assert.Equal(t, pinnedHashes(t), hashesIn(t, filepath.Join(t.TempDir(), "new")))
	assert.Equal(t, pinnedHashes(t), hashesIn(t, ""))
	e, err := appearance.NewEngine(t.Context(), appearance.EngineOptions{Interpret: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(t.Context())) }()
	p, err := openIn(t, e, textPage()).Render(1, 1)
	require.NoError(t, err)
	sum := p.Hash()
	assert.Equal(t, pinned(t)["text"].levels[0], hex.EncodeToString(sum[:]))
}

func TestPrepareCache_SharedDirectory_BecomesPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, appearance.PrepareCache(dir))
	st, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), st.Mode().Perm())
}
