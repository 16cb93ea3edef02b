package vault_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
)

func key(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

func open(t *testing.T, keys string) *vault.Vault {
	t.Helper()
	v, err := vault.New(keys)
	require.NoError(t, err)
	return v
}

func TestEncryptAndDecrypt(t *testing.T) {
	t.Parallel()
	v := open(t, key(1))
	a, b := v.Encrypt([]byte("secret"), "label"), v.Encrypt([]byte("secret"), "label")
	assert.NotEqual(t, a, b, "random nonce")
	assert.NotContains(t, string(a), "secret")
	got, err := v.Decrypt(a, "label")
	require.NoError(t, err)
	assert.Equal(t, "secret", string(got))

	_, err = v.Decrypt(a, "other label")
	require.Error(t, err)
	for i := range a {
		bad := bytes.Clone(a)
		bad[i] ^= 1
		_, err := v.Decrypt(bad, "label")
		require.Error(t, err, "byte %d", i)
	}
	for n := range a {
		_, err := v.Decrypt(a[:n], "label")
		require.Error(t, err, "cut at %d", n)
	}
}

func TestKeysCanBeReplaced(t *testing.T) {
	t.Parallel()
	old := open(t, key(1)).Encrypt([]byte("secret"), "l")
	both := open(t, key(2)+", "+key(1))
	got, err := both.Decrypt(old, "l")
	require.NoError(t, err)
	assert.Equal(t, "secret", string(got))
	fresh := both.Encrypt(got, "l")
	_, err = open(t, key(2)).Decrypt(fresh, "l")
	require.NoError(t, err, "the first key encrypts")
	_, err = open(t, key(2)).Decrypt(old, "l")
	require.ErrorIs(t, err, vault.ErrUnknownKey)
}

func TestDerivedKeysDiffer(t *testing.T) {
	t.Parallel()
	v := open(t, key(1)+","+key(2))
	a, err := v.Derive("a")
	require.NoError(t, err)
	b, err := v.Derive("b")
	require.NoError(t, err)
	require.Len(t, a, 2)
	assert.NotEqual(t, a[0], b[0])
	assert.NotEqual(t, a[0], a[1])
	again, err := v.Derive("a")
	require.NoError(t, err)
	assert.Equal(t, a, again)
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "short", key(1) + ",", key(1)[:20], base64.StdEncoding.EncodeToString(make([]byte, 31))} {
		_, err := vault.New(bad)
		require.ErrorContains(t, err, "base64 of 32 bytes")
	}
}

// TestValues checks that an encrypted value can be decrypted only with its label, and that an unencrypted value is
// rejected.
func TestValues(t *testing.T) {
	t.Parallel()
	former, now := open(t, key(1)), open(t, key(2)+","+key(1))
	for _, plain := range []string{"ada@example.com", "sealed: never", "Ἀδελφός 2"} {
		text, data := former.EncryptText(plain, "row 1"), former.EncryptBytes([]byte(plain), "row 1")
		assert.NotContains(t, text, plain)
		assert.NotContains(t, string(data), plain)
		assert.NotEqual(t, text, former.EncryptText(plain, "row 1"), "random nonce")

		got, err := now.DecryptText(text, "row 1")
		require.NoError(t, err)
		assert.Equal(t, plain, got)
		raw, err := now.DecryptBytes(data, "row 1")
		require.NoError(t, err)
		assert.Equal(t, plain, string(raw))

		_, err = now.DecryptText(text, "row 2")
		require.Error(t, err, "another row's")
		_, err = now.DecryptBytes(data, "row 2")
		require.Error(t, err, "another row's")
		_, err = now.DecryptText(text[:len(text)-4], "row 1")
		require.Error(t, err)
		_, err = now.DecryptText("!"+text, "row 1")
		require.ErrorContains(t, err, "not base64")
		_, err = now.DecryptText(plain, "row 1")
		require.Error(t, err, "in plain")
		_, err = now.DecryptBytes([]byte(plain), "row 1")
		require.Error(t, err, "in plain")

		assert.False(t, former.TextNeedsRewrap(text))
		assert.False(t, former.BytesNeedRewrap(data))
		assert.True(t, now.TextNeedsRewrap(text))
		assert.True(t, now.BytesNeedRewrap(data))
		assert.True(t, now.TextNeedsRewrap(text[:10]))
	}
	assert.Empty(t, now.EncryptText("", "row 1"))
	assert.Nil(t, now.EncryptBytes(nil, "row 1"))
	empty, err := now.DecryptText("", "row 1")
	require.NoError(t, err)
	assert.Empty(t, empty)
	none, err := now.DecryptBytes(nil, "row 1")
	require.NoError(t, err)
	assert.Nil(t, none)
	assert.False(t, now.TextNeedsRewrap(""))
	assert.False(t, now.BytesNeedRewrap(nil))
}

// TestIndex checks that equal values have equal hashes only within one scope and with one key.
func TestIndex(t *testing.T) {
	t.Parallel()
	former, err := open(t, key(1)).Index("address")
	require.NoError(t, err)
	both, err := open(t, key(2)+","+key(1)).Index("address")
	require.NoError(t, err)
	other, err := open(t, key(1)).Index("another purpose")
	require.NoError(t, err)
	h := both.Hashes("a", "ada@example.com")
	require.Len(t, h, 2)
	assert.Equal(t, former.Hashes("a", "ada@example.com")[0], h[1], "data that was encrypted with the former key is found")
	assert.Len(t, h[0], 22, "16 bytes")
	seen := map[string]bool{}
	for _, hash := range append(append(h, both.Hashes("b", "ada@example.com")...), append(both.Hashes("a", "bob@example.com"), other.Hashes("a", "ada@example.com")...)...) {
		assert.False(t, seen[hash])
		seen[hash] = true
	}
}
