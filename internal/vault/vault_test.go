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
