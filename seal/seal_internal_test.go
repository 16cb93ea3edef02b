package seal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatASealerRemembers checks the cached hash of the time-stamp authority's certificates and the cached QR code.
func TestWhatASealerRemembers(t *testing.T) {
	t.Parallel()
	var a authority
	a.last.Store(&[32]byte{7})
	got, err := a.issuers(t.Context()) // the authority is not contacted
	require.NoError(t, err)
	require.Equal(t, [32]byte{7}, got)
	a.last.Store(&[32]byte{8})
	got, err = a.issuers(t.Context())
	require.NoError(t, err)
	require.Equal(t, [32]byte{8}, got)

	var codes qrCache
	first, err := codes.of("https://a.example.org")
	require.NoError(t, err)
	again, err := codes.of("https://a.example.org")
	require.NoError(t, err)
	require.Same(t, &first[0], &again[0])
	other, err := codes.of("https://b.example.org")
	require.NoError(t, err)
	require.NotEqual(t, first, other)
}
