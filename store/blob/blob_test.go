package blob_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store/blob"
)

func put(t *testing.T, s blob.Store, key, text string) {
	t.Helper()
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = io.WriteString(f, text)
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), f, key))
}

func read(t *testing.T, s blob.Store, key string) string {
	t.Helper()
	f, err := s.Open(t.Context(), key)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.EqualValues(t, len(b), f.Size)
	return string(b)
}

// checkStore checks that files can be stored, replaced, listed and deleted.
func checkStore(t *testing.T, s blob.Store) {
	t.Helper()
	require.NoError(t, s.Check(t.Context()))
	put(t, s, "envelopes/1/sealed/a.pdf", "first")
	put(t, s, "envelopes/1/sealed/a.pdf", "second")
	put(t, s, "envelopes/1/sealed/b.pdf", "b")
	put(t, s, "envelopes/1/original/o.pdf", "o")
	put(t, s, "envelopes/10/sealed/c.pdf", "c")
	assert.Equal(t, "second", read(t, s, "envelopes/1/sealed/a.pdf"))
	for prefix, want := range map[string][]string{
		"envelopes/1/sealed/": {"envelopes/1/sealed/a.pdf", "envelopes/1/sealed/b.pdf"},
		"envelopes/1/":        {"envelopes/1/original/o.pdf", "envelopes/1/sealed/a.pdf", "envelopes/1/sealed/b.pdf"},
		"nowhere/":            nil,
	} {
		keys, err := s.List(t.Context(), prefix)
		require.NoError(t, err)
		assert.ElementsMatch(t, want, keys, prefix)
	}
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/sealed/a.pdf"))
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/sealed/a.pdf"), "deleting a file twice is not an error")
	_, err := s.Open(t.Context(), "envelopes/1/sealed/a.pdf")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := blob.Open(t.Context(), "file://"+root+"/new")
	require.NoError(t, err)
	checkStore(t, s)
	left, err := os.ReadDir(filepath.Join(root, "new", "tmp"))
	require.NoError(t, err)
	assert.Empty(t, left, "no temporary file remains")
}

func TestBlobKeys_StayInTheDirectory(t *testing.T) {
	t.Parallel()
	s, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	for _, key := range []string{"../x", "/etc/passwd", "a/../../x", ""} {
		require.Error(t, s.Put(t.Context(), f, key), key)
		_, err := s.Open(t.Context(), key)
		require.Error(t, err, key)
		require.Error(t, s.Delete(t.Context(), key), key)
	}
}

// TestDirectory_ReadersSeeWholeFiles checks that concurrent readers always see a complete file while the file is being
// replaced.
func TestDirectory_ReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	s, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	one, two := make([]byte, 1<<16), make([]byte, 1<<17)
	for i := range two {
		two[i] = 'x'
	}
	put(t, s, "k/f", string(one))
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 50 {
			put(t, s, "k/f", string(two))
			put(t, s, "k/f", string(one))
		}
	})
	for range 200 {
		got := read(t, s, "k/f")
		assert.True(t, got == string(one) || got == string(two), "a partially written file of %d bytes", len(got))
	}
	wg.Wait()
}

func TestUnknownStore(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"ftp://x", "", "file://", "gs://bucket"} {
		_, err := blob.Open(t.Context(), url)
		require.Error(t, err, url)
	}
}

// TestAbandonedFiles_AreRemoved checks that a later process removes the temporary files of a process that died, and no
// other files.
func TestAbandonedFiles_AreRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := blob.OpenDir(root)
	require.NoError(t, err)
	old, err := s.Temp()
	require.NoError(t, err)
	require.NoError(t, old.Close()) // as if the process had been killed
	fresh, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(fresh)
	other := filepath.Join(root, "tmp", "other")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	_, err = blob.OpenDir(root)
	require.NoError(t, err)
	assert.NoFileExists(t, old.Name())
	assert.FileExists(t, other)
	assert.FileExists(t, fresh.Name())
}
