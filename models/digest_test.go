package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestDigest_IsHexSHA256 checks that only a SHA-256 hash in lowercase hexadecimal is accepted.
func TestDigest_IsHexSHA256(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(nil)
	good := hex.EncodeToString(sum[:])
	for text, want := range map[string]bool{good: true, strings.ToUpper(good): false, good[2:]: false, good + "00": false, good[:62] + "zz": false, "": false} {
		require.Equal(t, want, models.IsDigest(text), text)
	}
}
