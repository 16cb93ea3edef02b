package cms_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/cms"
)

func newSigner(t testing.TB) *cms.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test"}, NotBefore: start, NotAfter: start.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	s, err := cms.NewSigner(key, []*x509.Certificate{c}, rand.Reader)
	require.NoError(t, err)
	return s
}

// TestSign checks the attributes that are required or forbidden by PAdES.
func TestSign(t *testing.T) {
	t.Parallel()
	der, err := newSigner(t).Sign(context.Background(), contentDigest, nil)
	require.NoError(t, err)
	s, err := cms.Parse(append(der, 0, 0, 0)) // padding as in /Contents
	require.NoError(t, err)
	require.NoError(t, s.Verify(contentDigest[:]))
	require.True(t, s.IsPAdES(), "no signing time, because /M contains it")
	other := sha256.Sum256([]byte("other"))
	require.ErrorIs(t, s.Verify(other[:]), cms.ErrDigest)
	der[len(der)-1] ^= 1
	s, err = cms.Parse(der)
	require.NoError(t, err)
	require.ErrorIs(t, s.Verify(contentDigest[:]), cms.ErrSignature)
	_, err = cms.Parse(append(der, 1))
	require.ErrorIs(t, err, cms.ErrStructure)
}

// FuzzParse checks that the parser returns an error for every invalid input.
func FuzzParse(f *testing.F) {
	der, err := newSigner(f).Sign(context.Background(), contentDigest, nil)
	require.NoError(f, err)
	f.Add(der)
	f.Add([]byte{0x30, 0x80, 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		s, err := cms.Parse(b)
		if err == nil {
			_ = s.Verify(contentDigest[:])
			_ = s.Chain()
		}
		if t, err := cms.ParseToken(b); err == nil {
			_ = t.Verify(contentDigest[:])
		}
	})
}
