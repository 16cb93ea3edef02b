package trust_test

import (
	"encoding/pem"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
)

// TestRevocationLists checks that PEM with any number of lists and a single list in DER are accepted, and that other
// content is rejected with a descriptive error.
func TestRevocationLists(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	der := root.crl(year(1), nil)
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	list := block("X509 CRL", der)
	got, err := trust.RevocationLists(der)
	require.NoError(t, err)
	require.Equal(t, [][]byte{der}, got)
	got, err = trust.RevocationLists(slices.Concat(list, list))
	require.NoError(t, err)
	require.Equal(t, [][]byte{der, der}, got)
	for want, b := range map[string][]byte{
		"no PEM block":             nil,
		"contains a certificate":   slices.Concat(list, block("CERTIFICATE", root.cert.Raw)),
		"list that cannot be read": block("X509 CRL", der[:len(der)-1]),
	} {
		_, err := trust.RevocationLists(b)
		require.ErrorContains(t, err, want)
	}
}
