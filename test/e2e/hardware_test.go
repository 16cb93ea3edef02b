//go:build pkcs11

package e2e_test

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThalesGroup/crypto11"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHardwareKey checks that a service built with hardware support seals with a key that never leaves SoftHSM, and
// that doctor checks this key. The test is not parallel, because SoftHSM reads its configuration from the environment.
func TestHardwareKey(t *testing.T) {
	dir := t.TempDir()
	tokens, conf, pin := filepath.Join(dir, "tokens"), filepath.Join(dir, "softhsm2.conf"), filepath.Join(dir, "pin")
	require.NoError(t, os.Mkdir(tokens, 0o700))
	require.NoError(t, os.WriteFile(conf, []byte("directories.tokendir = "+tokens+"\n"), 0o600))
	require.NoError(t, os.WriteFile(pin, []byte("1234\n"), 0o600))
	t.Setenv("SOFTHSM2_CONF", conf)
	out, err := exec.CommandContext(t.Context(), "softhsm2-util", "--init-token", "--free", "--label", "The seal", "--pin", "1234", "--so-pin", "5678").CombinedOutput()
	require.NoError(t, err, string(out))
	found, err := filepath.Glob("/usr/lib*/softhsm/libsofthsm2.so")
	require.NoError(t, err)
	require.NotEmpty(t, found, "SoftHSM must be installed")
	cert := filepath.Join(dir, "cert.pem")
	makeKey(t, found[0], cert)

	uri := "pkcs11:token=The%20seal;object=2026;type=private?module-path=" + found[0]
	s := production(t, "COUNTERSIGN_SEAL_KEY="+uri+"&pin-source="+pin, "COUNTERSIGN_SEAL_CERT="+cert)
	c := s.app(t)
	id := c.send(t, agreement("Ada", "ada@example.com"))
	s.sign(t, s.signingLink(t, "ada@example.com"), "")
	c.completed(t, id)
	file := filepath.Join(dir, "sealed.pdf")
	require.NoError(t, os.WriteFile(file, c.sealed(t, id), 0o600))
	verified, err := run(t, nil, "verify", file, "--sealer", cert)
	require.NoError(t, err, verified)
	assert.Contains(t, verified, "On a token")

	by, err := doctor(t, s.env)
	require.NoError(t, err, "%v", by)
	assert.Equal(t, "ok", by["seal_key"].Status)
	by, err = doctor(t, append(s.env, "COUNTERSIGN_SEAL_KEY="+uri, "COUNTERSIGN_SEAL_PASSWORD=1234"))
	require.NoError(t, err, "%v", by)
	by, err = doctor(t, append(s.env, "COUNTERSIGN_SEAL_KEY="+uri, "COUNTERSIGN_SEAL_PASSWORD=4321"))
	require.Error(t, err)
	assert.Equal(t, "failed", by["seal_key"].Status)
	assert.NotContains(t, by["seal_key"].Detail, "4321")
}

// makeKey creates a key pair on the token, and a certificate for it.
func makeKey(t *testing.T, module, cert string) {
	t.Helper()
	token, err := crypto11.Configure(&crypto11.Config{Path: module, TokenLabel: "The seal", Pin: "1234"})
	require.NoError(t, err)
	key, err := token.GenerateECDSAKeyPairWithLabel([]byte{1}, []byte("2026"), elliptic.P256())
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "On a token"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, token.Close())
}
