package seal_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"countersign/seal"
	"countersign/seal/rejection"
	"countersign/seal/sealkey"
	"countersign/test/kit/sealkit"
)

// opaqueSigner hides the type of a key, as a key management service does.
type opaqueSigner struct{ crypto.Signer }

func (o opaqueSigner) Sign(r io.Reader, d []byte, opts crypto.SignerOpts) ([]byte, error) {
	return o.Signer.Sign(r, d, opts)
}

func selfSigned(t *testing.T, key crypto.Signer) *x509.Certificate {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Seal of Þór"}, NotBefore: sealkit.Now.Add(-time.Hour), NotAfter: sealkit.Now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c
}

func TestKeys(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rsa2048, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsa3072, err := rsa.GenerateKey(rand.Reader, 3072)
	require.NoError(t, err)
	for name, key := range map[string]crypto.Signer{
		"P-256": ec, "RSA-2048": rsa2048, "RSA-3072": rsa3072, "behind a service": opaqueSigner{ec}, "RSA behind a service": opaqueSigner{rsa3072},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := sealkit.NewFixture(t)
			c := selfSigned(t, key)
			k.Config.Signer, k.Config.Chain = key, []*x509.Certificate{c}
			k.CA = nil
			require.NoError(t, os.WriteFile(k.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600))
			file, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(1)))
			sealkit.CheckIndependently(t, k, file, b)
			r := sealkit.Verified(t, b, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
		})
	}
}

func TestNewRejects(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	tests := []struct {
		name   string
		change func(c *seal.Config)
		want   string
	}{
		{"no key", func(c *seal.Config) { c.Signer = nil }, "key"},
		{"no chain", func(c *seal.Config) { c.Chain = nil }, "certificate"},
		{"another key", func(c *seal.Config) { c.Signer = c.ManifestSigner }, "does not belong"},
		{"small RSA", func(c *seal.Config) { c.Signer, c.Chain = small, []*x509.Certificate{selfSigned(t, small)} }, "2048"},
		{"P-384", func(c *seal.Config) { c.Signer, c.Chain = p384, []*x509.Certificate{selfSigned(t, p384)} }, "P-256"},
		{"expired", func(c *seal.Config) { c.Now = func() time.Time { return sealkit.Now.AddDate(30, 0, 0) } }, "valid only from"},
		{"chain in the wrong order", func(c *seal.Config) { c.Chain = []*x509.Certificate{c.Chain[0], c.Chain[0]} }, "did not issue"},
		{"no manifest key", func(c *seal.Config) { c.ManifestSigner = nil }, "manifest"},
		{"manifest key of another kind", func(c *seal.Config) { c.ManifestSigner = p384 }, "P-256"},
		{"no clock", func(c *seal.Config) { c.Now = nil }, "clock"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := sealkit.NewFixture(t).Config
			tt.change(&cfg)
			_, err := seal.New(cfg)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLoadPKCS12(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	c := selfSigned(t, key)
	data, err := pkcs12.Modern.Encode(key, c, nil, "secret")
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPKCS12(data, "secret")
	require.NoError(t, err)
	require.Equal(t, c.Raw, chain[0].Raw)
	require.True(t, key.PublicKey.Equal(signer.Public()))
	_, _, err = sealkey.LoadPKCS12(data, "wrong")
	require.Error(t, err)
}

// TestAlreadySigned checks that a signed original is rejected, because the seal would draw on it.
func TestAlreadySigned(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	_, original := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
	out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
	require.NoError(t, err)
	_, err = s.Seal(t.Context(), out, sealkit.Job(t, original))
	require.Equal(t, rejection.DocumentSigned, sealkit.RejectionCode(t, err))
	require.NoError(t, out.Close())
}

func TestManifestAttachment(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	file, _ := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(1)))
	dir := t.TempDir()
	out, err := sealkit.Run(t, "pdfdetach", "-saveall", "-o", dir, file)
	require.NoError(t, err, out)
	got, err := os.ReadFile(filepath.Join(dir, "seal.json"))
	require.NoError(t, err)
	require.Contains(t, string(got), `"protected"`)
}

func TestSealRejectsAChangedOriginal(t *testing.T) {
	t.Parallel()
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.OriginalSHA256 = strings.Repeat("ab", 32)
	err := sealError(t, j)
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.OriginalChanged, rejected.Code)
}

func TestSealRejectsAFieldBeyondThePages(t *testing.T) {
	t.Parallel()
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.Values[0].Page = 2
	var rejected *rejection.Error
	require.ErrorAs(t, sealError(t, j), &rejected)
	require.Equal(t, rejection.FieldOffPage, rejected.Code)
}

func sealError(t *testing.T, j seal.Job) error {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = sealkit.NewFixture(t).Sealer(t).Seal(context.Background(), out, j)
	return err
}

func TestSealIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, b := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(2)))
			require.True(t, sealkit.Verified(t, b, k.Trust()).OK())
		})
	}
	wg.Wait()
}
