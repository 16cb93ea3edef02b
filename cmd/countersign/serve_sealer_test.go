package main

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"countersign/seal/sealkey"
)

// TestDevSealKey checks that dev can seal with its own key, with PEM files, or with a PKCS#12 file.
func TestDevSealKey(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, prepareDataDir(dir))
	sealer := func() string {
		c, err := devConfig(dir, "127.0.0.1:0")
		require.NoError(t, err)
		_, chain, err := sealKey(c)
		require.NoError(t, err)
		return chain[0].Subject.String()
	}
	own := sealer()
	ca, cert, key, err := sealkey.SelfSigned("Other", time.Now(), rand.Reader)
	require.NoError(t, err)
	block, _ := pem.Decode(key)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	block, _ = pem.Decode(cert)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	p12, err := pkcs12.Modern.Encode(private, leaf, nil, "secret")
	require.NoError(t, err)
	path := func(name string, b []byte) string {
		at := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(at, b, 0o600))
		return at
	}
	t.Setenv("COUNTERSIGN_SEAL_KEY", path("seal.p12", p12))
	t.Setenv("COUNTERSIGN_SEAL_PASSWORD", "secret")
	require.Equal(t, leaf.Subject.String(), sealer())
	require.NotEqual(t, own, sealer())
	t.Setenv("COUNTERSIGN_SEAL_KEY", path("both.pem", append(append(key, cert...), ca...)))
	require.Equal(t, leaf.Subject.String(), sealer())
	t.Setenv("COUNTERSIGN_SEAL_KEY", path("key.pem", key))
	t.Setenv("COUNTERSIGN_SEAL_CERT", path("cert.pem", append(cert, ca...)))
	require.Equal(t, leaf.Subject.String(), sealer())
}
