package clients_test

import (
	"encoding/base64"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func hexOf(s string) string { return hex.EncodeToString([]byte(s)) }

// openssl returns the HMAC-SHA256 of a string, computed with OpenSSL. It is encoded in hex, or in base64 if form is
// -binary.
func openssl(t *testing.T, key, text, form string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:"+key, form)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	require.NoError(t, err)
	if form == "-binary" {
		return base64.StdEncoding.EncodeToString(out)
	}
	_, digest, ok := strings.Cut(strings.TrimSpace(string(out)), "= ")
	require.True(t, ok, "%s", out)
	return digest
}
