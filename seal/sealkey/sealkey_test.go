package sealkey_test

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/sealkey"
)

// TestSelfSigned checks that the certificates of a development service are valid only for sealing.
func TestSelfSigned(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	ca, leaf, key, err := sealkey.SelfSigned("Acme", now, rand.Reader)
	require.NoError(t, err)
	parse := func(text []byte) *x509.Certificate {
		block, rest := pem.Decode(text)
		require.Empty(t, rest)
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		return c
	}
	above, own := parse(ca), parse(leaf)
	require.True(t, above.IsCA)
	require.True(t, above.MaxPathLenZero)
	require.Equal(t, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, above.KeyUsage)
	require.False(t, own.IsCA)
	require.Equal(t, x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment, own.KeyUsage)
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}, own.ExtKeyUsage)
	require.Equal(t, "1.3.6.1.5.5.7.3.36", own.UnknownExtKeyUsage[0].String(), "document signing")
	require.Equal(t, "Acme", own.Subject.CommonName)
	require.Equal(t, "Acme development authority", above.Subject.CommonName)
	require.NotZero(t, own.SerialNumber.Cmp(above.SerialNumber))
	for _, c := range []*x509.Certificate{above, own} {
		require.False(t, c.NotBefore.After(now))
		require.True(t, c.NotAfter.After(now.AddDate(1, 0, 0)))
	}
	require.True(t, above.NotAfter.After(own.NotAfter) || above.NotAfter.Equal(own.NotAfter))
	roots := x509.NewCertPool()
	roots.AddCert(above)
	_, err = own.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(leaf, key)
	require.NoError(t, err)
	require.Equal(t, own.PublicKey, signer.Public())
	require.Len(t, chain, 1)
}

// TestLoadPEM_OfEachForm_ReadsTheKey checks that each supported form is accepted, and that any other form is rejected
// with an error.
func TestLoadPEM_OfEachForm_ReadsTheKey(t *testing.T) {
	t.Parallel()
	_, leaf, _, err := sealkey.SelfSigned("Acme", time.Now(), rand.Reader)
	require.NoError(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ecDER, err := x509.MarshalECPrivateKey(ec)
	require.NoError(t, err)
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	exchangeDER, err := x509.MarshalPKCS8PrivateKey(exchange)
	require.NoError(t, err)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	for name, c := range map[string]struct {
		cert, key []byte
		public    any
		says      string
	}{
		"SEC 1":                 {leaf, block("EC PRIVATE KEY", ecDER), ec.Public(), ""},
		"PKCS #1":               {leaf, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small)), small.Public(), ""},
		"behind its parameters": {leaf, append(block("EC PARAMETERS", []byte{6, 0}), block("EC PRIVATE KEY", ecDER)...), ec.Public(), ""},
		"certificate behind":    {append(block("EC PRIVATE KEY", ecDER), leaf...), block("EC PRIVATE KEY", ecDER), ec.Public(), ""},
		"cannot sign":           {leaf, block("PRIVATE KEY", exchangeDER), nil, "cannot sign"},
		"cannot be read":        {leaf, block("RSA PRIVATE KEY", ecDER), nil, "cannot be read"},
		"encrypted":             {leaf, block("ENCRYPTED PRIVATE KEY", ecDER), nil, "use PKCS #12"},
		"no key":                {leaf, leaf, nil, "no private key"},
		"no certificate":        {block("EC PRIVATE KEY", ecDER), block("EC PRIVATE KEY", ecDER), nil, "no certificate"},
		"a broken certificate":  {block("CERTIFICATE", ecDER), block("EC PRIVATE KEY", ecDER), nil, "certificate"},
	} {
		signer, chain, err := sealkey.LoadPEM(c.cert, c.key)
		if c.says != "" {
			require.ErrorContains(t, err, c.says, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.public, signer.Public(), name)
		require.Len(t, chain, 1, name)
	}
}
