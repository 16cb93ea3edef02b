package totp_test

import (
	"encoding/base32"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/totp"
)

// TestVectors checks the test vectors of RFC 6238, appendix B. Only the last six digits of each eight-digit password
// are used.
func TestVectors(t *testing.T) {
	t.Parallel()
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		step, ok := totp.Match(secret, code, time.Unix(at, 0))
		assert.True(t, ok, at)
		assert.Equal(t, at/30, step)
		for _, off := range []int64{-30, 30} { // a clock that is one step fast or slow
			got, ok := totp.Match(secret, code, time.Unix(at+off, 0))
			assert.True(t, ok, at)
			assert.Equal(t, step, got)
		}
		_, ok = totp.Match(secret, code, time.Unix(at+60, 0))
		assert.False(t, ok, at)
		_, ok = totp.Match(secret, "1"+code[1:5]+"x", time.Unix(at, 0))
		assert.False(t, ok, at)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	a, err := totp.New("Countersign", "ada@example.com")
	require.NoError(t, err)
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(a.Text)
	require.NoError(t, err)
	assert.Len(t, raw, 20)
	u, err := url.Parse(a.URI)
	require.NoError(t, err)
	assert.Equal(t, "otpauth", u.Scheme)
	assert.Equal(t, "totp", u.Host)
	assert.Equal(t, "/Countersign:ada@example.com", u.Path)
	assert.Equal(t, a.Text, u.Query().Get("secret"))
	b, err := totp.New("Countersign", "ada@example.com")
	require.NoError(t, err)
	assert.NotEqual(t, a.Text, b.Text)
}
