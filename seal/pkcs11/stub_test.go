//go:build !pkcs11 || !cgo

package pkcs11_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/pkcs11"
)

func TestOpen_WithoutSupport_IsAnError(t *testing.T) {
	t.Parallel()
	_, err := pkcs11.Open(pkcs11.Config{})
	require.ErrorIs(t, err, pkcs11.ErrNotBuilt)
}
