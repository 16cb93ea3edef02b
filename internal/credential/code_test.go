package credential_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/models"
)

// TestCode_IsBoundToItsLink checks that the hash of a code differs for another link, another signer and another key.
func TestCode_IsBoundToItsLink(t *testing.T) {
	t.Parallel()
	codes := credential.NewCodes([]byte("key"))
	l := models.Link{EnvelopeID: uuid.New(), SignerID: uuid.New(), ID: uuid.New()}
	hash := codes.Hash(l, "123456")
	require.Equal(t, hash, codes.Hash(l, "123456"))
	require.NotContains(t, string(hash), "123456")
	renewed, another := l, l
	renewed.ID, another.SignerID = uuid.New(), uuid.New()
	require.NotEqual(t, hash, codes.Hash(renewed, "123456"))
	require.NotEqual(t, hash, codes.Hash(another, "123456"))
	require.NotEqual(t, hash, codes.Hash(l, "123457"))
	require.NotEqual(t, hash, credential.NewCodes([]byte("another key")).Hash(l, "123456"))

	draft := codes.DraftKey(l)
	require.Equal(t, draft, codes.DraftKey(l))
	require.Len(t, draft, 43, "256 bits")
	require.NotEqual(t, draft, codes.DraftKey(renewed))
	require.NotEqual(t, draft, codes.DraftKey(another))
}

// TestCodesAreSixDigits checks that codes have six digits, including leading zeros.
func TestCodesAreSixDigits(t *testing.T) {
	t.Parallel()
	codes, seen, zeros := credential.NewCodes([]byte("key")), map[string]bool{}, 0
	for range 500 {
		code, err := codes.New()
		require.NoError(t, err)
		require.Regexp(t, `^[0-9]{6}$`, code)
		seen[code] = true
		if code[0] == '0' {
			zeros++
		}
	}
	require.Greater(t, len(seen), 480)
	require.Positive(t, zeros, "about a tenth of the codes begin with zero")
}
