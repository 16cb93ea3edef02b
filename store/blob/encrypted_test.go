package blob_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
	"countersign/store/blob"
	"countersign/test/kit"
)

// onDisk returns a store in a directory, and a function that returns the stored bytes of a file.
func onDisk(t *testing.T) (blob.Store, func(key string) []byte) {
	t.Helper()
	root := t.TempDir()
	s, err := blob.OpenDir(root)
	require.NoError(t, err)
	return s, func(key string) []byte {
		b, err := os.ReadFile(filepath.Join(root, key))
		require.NoError(t, err)
		return b
	}
}

func TestEncryptedFiles_ReadBack(t *testing.T) {
	t.Parallel()
	plain, raw := onDisk(t)
	s := blob.NewEncrypted(plain, kit.VaultOf(t, 1), true)
	require.NoError(t, s.Check(t.Context()))
	for name, text := range map[string]string{
		"empty": "", "short": "%PDF-1.7 Contract", "a segment": strings.Repeat("x", 64<<10), "long": strings.Repeat("Contract ", 100_000),
	} {
		put(t, s, "e/"+name, text)
		assert.Equal(t, text, read(t, s, "e/"+name), "the size is that of the unencrypted content")
		assert.NotContains(t, string(raw("e/"+name)), "Contract")
	}
	put(t, s, "e/twice", "same")
	first := raw("e/twice")
	put(t, s, "e/twice", "same")
	assert.NotEqual(t, first, raw("e/twice"), "each file has its own key")

	f, err := s.Open(t.Context(), "e/long")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	part := make([]byte, 8)
	_, err = f.ReadAt(part, 9*70_000)
	require.NoError(t, err)
	assert.Equal(t, "Contract", string(part), "ranges of the content can be read")
	assert.NoFileExists(t, f.Name())
}

// TestChangedFiles_AreRejected checks that a file is rejected if any byte or the length of the file was changed, or if
// the file was moved to another key.
func TestChangedFiles_AreRejected(t *testing.T) {
	t.Parallel()
	plain, raw := onDisk(t)
	s := blob.NewEncrypted(plain, kit.VaultOf(t, 1), true)
	put(t, s, "a", strings.Repeat("text ", 40_000))
	whole := raw("a")
	rejected := func(key string, b []byte) {
		t.Helper()
		put(t, plain, key, string(b))
		_, err := s.Open(t.Context(), key)
		require.ErrorIs(t, err, blob.ErrDamaged)
	}
	for _, at := range []int{8, 9, 12, 40, 80, 100, len(whole) / 2, len(whole) - 1} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		rejected("a", b)
	}
	for _, n := range []int{9, 30, 80, 64 << 10, len(whole) - 1} {
		rejected("a", whole[:n])
	}
	rejected("a", append(bytes.Clone(whole), 'x'))
	rejected("b", whole)
	put(t, plain, "a", string(whole))
	_, err := blob.NewEncrypted(plain, kit.VaultOf(t, 2), true).Open(t.Context(), "a")
	require.ErrorIs(t, err, vault.ErrUnknownKey)
}

func TestEncrypted_ReadsEarlierPlainFiles(t *testing.T) {
	t.Parallel()
	plain, raw := onDisk(t)
	put(t, plain, "old", "%PDF-1.7 old")
	put(t, plain, "tiny", "%")
	on, off := blob.NewEncrypted(plain, kit.VaultOf(t, 1), true), blob.NewEncrypted(plain, kit.VaultOf(t, 1), false)
	for _, s := range []blob.Store{on, off} {
		assert.Equal(t, "%PDF-1.7 old", read(t, s, "old"))
		assert.Equal(t, "%", read(t, s, "tiny"))
	}
	put(t, on, "new", "%PDF-1.7 new")
	assert.Equal(t, "%PDF-1.7 new", read(t, off, "new"), "encrypted files can still be read when encryption is disabled")
	put(t, off, "plain", "%PDF-1.7 plain")
	assert.Equal(t, "%PDF-1.7 plain", string(raw("plain")))
}

// TestRewrap checks that Rewrap makes the former master key unnecessary without changing the content.
func TestRewrap(t *testing.T) {
	t.Parallel()
	plain, raw := onDisk(t)
	before := blob.NewEncrypted(plain, kit.VaultOf(t, 1), true)
	put(t, before, "f", strings.Repeat("text ", 40_000))
	put(t, plain, "old", "%PDF-1.7 old")
	body := raw("f")
	both := blob.NewEncrypted(plain, kit.VaultOf(t, 2, 1), true)
	for _, key := range []string{"f", "old"} {
		done, _, err := both.Rewrap(t.Context(), key)
		require.NoError(t, err)
		assert.True(t, done)
		done, _, err = both.Rewrap(t.Context(), key)
		require.NoError(t, err)
		assert.False(t, done, "one key is sufficient")
	}
	after := blob.NewEncrypted(plain, kit.VaultOf(t, 2), true)
	assert.Equal(t, strings.Repeat("text ", 40_000), read(t, after, "f"))
	assert.Equal(t, "%PDF-1.7 old", read(t, after, "old"))
	assert.NotContains(t, string(raw("old")), "%PDF")
	assert.Equal(t, body[len(body)-1000:], raw("f")[len(body)-1000:])
	_, err := before.Open(t.Context(), "f")
	require.Error(t, err)
}

// TestAnchors_AreNotEncrypted checks that anchors are stored unencrypted, because openssl and readers without the
// master key must be able to read them. An encrypted anchor can still be read, and Rewrap decrypts it.
func TestAnchors_AreNotEncrypted(t *testing.T) {
	t.Parallel()
	const key, list = "anchors/00000001-ab.txt", "countersign-anchor 1\n"
	encrypted, err := base64.StdEncoding.DecodeString("Q1NmaWxlMQoAQEXJsH0/h83Qqyvv+b4vttOU+U/cyGGjbbrPdHzhMO3A2QmEPQPrLWOrvk0BtAZsetZVxiP63mtVqI6LypmywAgo0ysXSLoya8w8nJ6oLoETln9dcE8Kw9GIpDBQF4uXaTBITLcfOlkUT7LDEKCPes1kF8Wbk/TU3crUUQND5R+0v/J1FdDNyEwkoKZiDw==") // written with the first master key, by a version that encrypted anchors
	require.NoError(t, err)
	plain, raw := onDisk(t)
	former, now := blob.NewEncrypted(plain, kit.VaultOf(t, 1), true), blob.NewEncrypted(plain, kit.VaultOf(t, 2, 1), true)
	put(t, former, key, list)
	assert.Equal(t, list, string(raw(key)))
	for _, s := range []*blob.Encrypted{former, now} {
		put(t, plain, key, string(encrypted))
		assert.Equal(t, list, read(t, s, key))
		for _, changes := range []bool{true, false} {
			changed, still, err := s.Rewrap(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, changes, changed)
			assert.False(t, still, "encrypted")
			assert.Equal(t, list, string(raw(key)))
		}
	}
}
