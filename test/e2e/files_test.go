package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFilesSweep checks that files left over from an interrupted upload are listed and, on request, deleted, and that
// documents are not deleted.
func TestFilesSweep(t *testing.T) {
	t.Parallel()
	s := production(t)
	id := s.app(t).send(t, agreement("Ada", "ada@example.com"))
	root := strings.TrimPrefix(s.setting("COUNTERSIGN_BLOB_URL"), "file://")
	left := filepath.Join(root, "envelopes", id.String(), "original", uuid.NewString()+".pdf")
	require.NoError(t, os.WriteFile(left, []byte("%PDF-"), 0o600))
	past := time.Now().Add(-25 * time.Hour)
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "envelopes"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
	out, err := run(t, s.env, "files", "sweep")
	require.NoError(t, err, out)
	assert.Contains(t, out, filepath.Base(left)+"  never recorded")
	assert.Contains(t, out, "1 file(s), 5 bytes in total: can be deleted with --delete")
	assert.FileExists(t, left)
	out, err = run(t, s.env, "files", "sweep", "--delete", "--json")
	require.NoError(t, err, out)
	assert.Contains(t, out, `"deleted":true`)
	assert.NoFileExists(t, left)
	out, err = run(t, s.env, "files", "sweep", "--delete")
	require.NoError(t, err, out)
	assert.Contains(t, out, "0 file(s), 0 bytes in total: deleted")
	out, err = run(t, s.env, "audit", "verify", "--all")
	require.NoError(t, err, out)
	assert.Contains(t, out, "1 envelope(s)")
}
