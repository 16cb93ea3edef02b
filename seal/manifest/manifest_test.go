package manifest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/manifest"
)

// smallKey returns a key that has a coordinate with a leading zero byte.
func smallKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		point, err := key.PublicKey.Bytes()
		require.NoError(t, err)
		if point[1] == 0 {
			return key, point
		}
	}
}

// TestKeysInTheRecord checks that key coordinates are accepted only at their full length (RFC 7518, 6.2.1.2), so that
// each record has exactly one valid form.
func TestKeysInTheRecord(t *testing.T) {
	t.Parallel()
	key, point := smallKey(t)
	b64 := base64.RawURLEncoding.EncodeToString
	right, err := manifest.Sign(manifest.Manifest{Type: manifest.Type}, key, "k", rand.Reader)
	require.NoError(t, err)
	_, kid, public, err := manifest.Open(right)
	require.NoError(t, err)
	require.Equal(t, "k", kid)
	require.True(t, public.Equal(&key.PublicKey))
	var form struct {
		Payload   string `json:"payload"`
		Protected string `json:"protected"`
		Signature string `json:"signature"`
	}
	require.NoError(t, json.Unmarshal(right, &form))
	header, err := base64.RawURLEncoding.DecodeString(form.Protected)
	require.NoError(t, err)

	signed := func(part, other string) error {
		changed := strings.Replace(string(header), part, other, 1)
		require.NotEqual(t, string(header), changed)
		form := form
		form.Protected = b64([]byte(changed))
		sum := sha256.Sum256([]byte(form.Protected + "." + form.Payload))
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		require.NoError(t, err)
		form.Signature = b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
		raw, err := json.MarshalIndent(form, "", "  ")
		require.NoError(t, err)
		_, _, _, err = manifest.Open(raw)
		return err
	}
	x, y := point[1:33], point[33:]
	member := func(name string, b []byte) string { return `"` + name + `":"` + b64(b) + `"` }
	both := member("x", x) + "," + member("y", y)
	for name, c := range map[string][2]string{
		"a shorter x":      {member("x", x), member("x", new(big.Int).SetBytes(x).Bytes())},
		"a longer x":       {member("x", x), member("x", append([]byte{0}, x...))},
		"a longer y":       {member("y", y), member("y", append([]byte{0}, y...))},
		"no y":             {member("y", y), member("y", nil)},
		"one in the other": {both, member("x", point[1:32]) + "," + member("y", point[32:])},
		"the other way":    {both, member("x", point[1:34]) + "," + member("y", point[34:])},
		"no base64":        {member("x", x), `"x":"*"`},
		"no point":         {member("y", y), member("y", x)},
		"another curve":    {"P-256", "P-384"},
		"another kind":     {`"EC"`, `"RSA"`},
		"one member more":  {both, both + `,"d":"x"`},
		"another order":    {both, member("y", y) + "," + member("x", x)},
		"another type":     {"+json", "+jose"},
		"no algorithm":     {"ES256", "none"},
	} {
		require.ErrorIs(t, signed(c[0], c[1]), manifest.ErrMalformed, name)
	}
}
