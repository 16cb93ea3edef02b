package vault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestValues: an encrypted value opens under its label alone, and what is not
// encrypted does not open at all.
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

// TestIndex: equal values have equal hashes in one scope and under one key only.
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
	assert.Equal(t, former.Hashes("a", "ada@example.com")[0], h[1], "what was written under the former key is found")
	assert.Len(t, h[0], 22, "16 bytes")
	seen := map[string]bool{}
	for _, hash := range append(append(h, both.Hashes("b", "ada@example.com")...), append(both.Hashes("a", "bob@example.com"), other.Hashes("a", "ada@example.com")...)...) {
		assert.False(t, seen[hash])
		seen[hash] = true
	}
}
