package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNewRelyingParty checks for which public addresses passkeys are enabled.
func TestNewRelyingParty(t *testing.T) {
	t.Parallel()
	for base, origin := range map[string]string{
		"https://sign.example": "https://sign.example", "https://sign.example:8443/path": "https://sign.example:8443", "https://localhost": "https://localhost",
		"http://localhost:8080": "http://localhost:8080", "http://sign.example": "", "https://192.0.2.7": "", "https://[2001:db8::7]": "",
	} {
		rp, err := newRelyingParty(base)
		require.NoError(t, err, base)
		if origin == "" {
			require.Nil(t, rp, base)
			continue
		}
		require.NotNil(t, rp, base)
		require.Equal(t, []string{origin}, rp.Config.RPOrigins, base)
	}
	_, err := newRelyingParty("https://sign.example:port")
	require.ErrorContains(t, err, "relying party")
}
