package blob_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store/blob"
	"countersign/test/kit"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestRecordedFiles checks that a file can be read only if its content and encryption match its record.
func TestRecordedFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	plain, err := blob.OpenDir(root)
	require.NoError(t, err)
	encrypted := blob.NewEncrypted(plain, kit.Vault(t), true)
	reading := blob.NewEncrypted(plain, kit.Vault(t), false)
	assert.True(t, blob.Encrypts(encrypted))
	assert.False(t, blob.Encrypts(reading))
	assert.False(t, blob.Encrypts(plain))
	const key, text, other = "envelopes/1/original/a.pdf", "%PDF the contract", "%PDF another one!"
	put := func(s blob.Store, key, text string) { t.Helper(); put(t, s, key, text) }
	open := func(s blob.Store, r blob.Record) (string, error) {
		f, err := blob.OpenRecorded(t.Context(), s, r)
		if err != nil {
			return "", err
		}
		defer func() { require.NoError(t, f.Close()) }()
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		return string(b), nil
	}
	record := blob.Record{Key: key, SHA256: hashOf(text)}
	sealed := blob.Record{Key: key, SHA256: hashOf(text), Encrypted: true}

	put(plain, key, text)
	for _, s := range []blob.Store{plain, encrypted, reading} {
		got, err := open(s, record)
		require.NoError(t, err, "stored before files were encrypted")
		assert.Equal(t, text, got)
		_, err = open(s, sealed)
		require.ErrorIs(t, err, blob.ErrModified, "an unencrypted file in place of an encrypted one")
	}
	put(encrypted, key, text)
	for _, s := range []blob.Store{encrypted, reading} {
		for _, r := range []blob.Record{record, sealed} {
			got, err := open(s, r)
			require.NoError(t, err)
			assert.Equal(t, text, got)
		}
	}
	_, err = open(plain, record)
	require.ErrorIs(t, err, blob.ErrModified)

	// The first attacker can write to the store. The second also has the master key.
	put(plain, key, other)
	_, err = open(encrypted, record)
	require.ErrorIs(t, err, blob.ErrModified)
	put(encrypted, key, other)
	_, err = open(encrypted, sealed)
	require.ErrorIs(t, err, blob.ErrModified)
	put(encrypted, "envelopes/2/original/b.pdf", text)
	moved, err := os.ReadFile(filepath.Join(root, "envelopes/2/original/b.pdf"))
	require.NoError(t, err)
	put(plain, key, string(moved))
	_, err = open(encrypted, sealed)
	require.ErrorIs(t, err, blob.ErrDamaged, "another file's bytes")
	_, err = open(encrypted, blob.Record{Key: "envelopes/3/x.pdf", SHA256: hashOf(text)})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestReader_ComparesOnce checks that a file is compared with its record once for all reads, and again after it has
// changed.
func TestReader_ComparesOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	plain, err := blob.OpenDir(root)
	require.NoError(t, err)
	counting := &counted{Store: plain}
	const key = "envelopes/1/original/a.pdf"
	text := strings.Repeat("%PDF the contract. ", 10_000)
	r := blob.NewReader(counting)
	record := blob.Record{Key: key, SHA256: hashOf(text)}
	put(t, plain, key, text)
	content := func() string {
		t.Helper()
		c, err := r.Open(t.Context(), record)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()); require.NoError(t, c.Close()) }()
		b, err := io.ReadAll(c)
		require.NoError(t, err)
		return string(b)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { assert.Equal(t, text, content()) })
	}
	wg.Wait()
	opened := counting.n()
	assert.LessOrEqual(t, opened, 20)
	for range 10 {
		require.Equal(t, text, content())
	}
	assert.Equal(t, opened, counting.n(), "the open file is reused")

	path := filepath.Join(root, filepath.FromSlash(key))
	require.Eventually(t, func() bool { // the file system's clock advances every few milliseconds
		f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString("%PDF THE CONTRACT")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		c, err := r.Open(t.Context(), record)
		if err == nil {
			require.NoError(t, c.Close())
		}
		return errors.Is(err, blob.ErrModified)
	}, 5*time.Second, time.Millisecond, "the file was overwritten in place")
	put(t, plain, key, text)
	require.Equal(t, text, content())
}

type counted struct {
	blob.Store

	mu    sync.Mutex
	opens int
}

func (c *counted) Open(ctx context.Context, key string) (*blob.File, error) {
	c.mu.Lock()
	c.opens++
	c.mu.Unlock()
	return c.Store.Open(ctx, key)
}

func (c *counted) n() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opens
}

func BenchmarkRecordedPart(b *testing.B) {
	plain, err := blob.OpenDir(b.TempDir())
	require.NoError(b, err)
	text := strings.Repeat("x", 25<<20)
	f, err := plain.Temp()
	require.NoError(b, err)
	defer blob.Discard(f)
	_, err = f.WriteString(text)
	require.NoError(b, err)
	require.NoError(b, plain.Put(b.Context(), f, "k"))
	record := blob.Record{Key: "k", SHA256: hashOf(text)}
	part := make([]byte, 256<<10)
	for name, open := range map[string]func() (io.ReadSeekCloser, error){
		"first": func() (io.ReadSeekCloser, error) { return blob.OpenRecorded(b.Context(), plain, record) },
		"again": func() func() (io.ReadSeekCloser, error) {
			r := blob.NewReader(plain)
			return func() (io.ReadSeekCloser, error) { return r.Open(b.Context(), record) }
		}(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f, err := open()
				require.NoError(b, err)
				_, err = f.Seek(1<<20, io.SeekStart)
				require.NoError(b, err)
				_, err = io.ReadFull(f, part)
				require.NoError(b, err)
				require.NoError(b, f.Close())
			}
		})
	}
}
