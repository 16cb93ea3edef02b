package blob_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/store/blob"
)

// TestBucket: the S3 protocol, to an endpoint of one's own.
func TestBucket(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	s, err := blob.Open(t.Context(), s3.URL)
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	keep(t, s, "envelopes/1/sealed/a.pdf", "first")
	keep(t, s, "envelopes/1/sealed/a.pdf", "second")
	keep(t, s, "envelopes/1/sealed/b.pdf", "b")
	keep(t, s, "envelopes/1/original/o.pdf", "o")
	keep(t, s, "envelopes/10/sealed/c.pdf", "c")
	assert.Equal(t, "second", read(t, s, "envelopes/1/sealed/a.pdf"))
	keys, err := s.List(t.Context(), "envelopes/1/")
	require.NoError(t, err)
	assert.Equal(t, []string{"envelopes/1/original/o.pdf", "envelopes/1/sealed/a.pdf", "envelopes/1/sealed/b.pdf"}, keys)
	s3.Age("envelopes/10/sealed/c.pdf", time.Hour)
	told := walk(t, s, "envelopes/10")
	require.Len(t, told, 1)
	assert.EqualValues(t, 1, told[0].Size)
	assert.WithinDuration(t, time.Now().Add(-time.Hour), told[0].Modified, 5*time.Minute)
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/sealed/a.pdf"))
	require.NoError(t, s.Delete(t.Context(), "envelopes/1/sealed/a.pdf"), "twice is no error")
	_, err = s.Open(t.Context(), "envelopes/1/sealed/a.pdf")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func walk(t *testing.T, s blob.Store, prefix string) (told []blob.Entry) {
	t.Helper()
	require.NoError(t, s.Walk(t.Context(), prefix, func(e blob.Entry) error { told = append(told, e); return nil }))
	return told
}

func TestWalkADirectory(t *testing.T) {
	t.Parallel()
	s, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	keep(t, s, "a/b/c.pdf", "abc")
	keep(t, s, "d.pdf", "d")
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	told := walk(t, s, "")
	require.Len(t, told, 2, "without what is temporary")
	assert.Equal(t, "a/b/c.pdf", told[0].Key)
	assert.EqualValues(t, 3, told[0].Size)
	assert.WithinDuration(t, time.Now(), told[0].Modified, 5*time.Minute)
	assert.Empty(t, walk(t, s, "nowhere/"))
}
