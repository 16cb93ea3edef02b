package cms_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/cms"
	"countersign/test/kit"
)

// TestSignaturesAreSmall checks that Sign returns the smaller of the two valid signature values.
func TestSignaturesAreSmall(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	half := new(big.Int).Rsh(elliptic.P256().Params().N, 1)
	for i := range 20 {
		digest := sha256.Sum256([]byte{byte(i)})
		der, err := signer.Sign(context.Background(), digest, nil)
		require.NoError(t, err)
		s, err := cms.ParseStrict(der)
		require.NoError(t, err)
		var sig struct{ R, S *big.Int }
		_, err = asn1.Unmarshal(s.Signature, &sig)
		require.NoError(t, err)
		require.LessOrEqual(t, sig.S.Cmp(half), 0)
	}
}

// TestParseStrict checks that equivalent messages in any non-canonical form are rejected.
func TestParseStrict(t *testing.T) {
	t.Parallel()
	der, err := newSigner(t).Sign(context.Background(), contentDigest, nil)
	require.NoError(t, err)
	_, err = cms.ParseStrict(append(der, 0, 0))
	require.NoError(t, err)
	for at := range der {
		changed := append([]byte{}, der...)
		changed[at] ^= 1
		s, err := cms.ParseStrict(changed)
		if err != nil {
			continue
		}
		require.Error(t, s.Verify(contentDigest[:]), "byte %d", at)
	}
	for _, b := range [][]byte{nil, {0x30}, {0x30, 0x80, 0, 0}, append(der, 1), append([]byte{0}, der...)} {
		_, err := cms.ParseStrict(b)
		require.ErrorIs(t, err, cms.ErrStructure)
	}
}

// TestNestedBER checks that deeply nested values of indefinite length are rejected at low cost.
func TestNestedBER(t *testing.T) {
	t.Parallel()
	var b []byte
	for range 200_000 {
		b = append(b, 0x30, 0x80)
	}
	_, err := cms.Parse(b)
	require.ErrorIs(t, err, cms.ErrStructure)
	inner := []byte{}
	for len(inner) < 60_000 {
		next, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: inner})
		require.NoError(t, err)
		inner = next
	}
	_, err = cms.Parse(inner)
	require.ErrorIs(t, err, cms.ErrStructure)
}

// TestStampIsNormalized checks that unsigned parts added by OpenSSL's authority are normalized when the time-stamp is
// received.
func TestStampIsNormalized(t *testing.T) {
	t.Parallel()
	tsa := kit.NewTSA(t)
	a := &cms.Authority{URL: tsa.URL, Client: &http.Client{Timeout: time.Minute}, Rand: rand.Reader}
	der, err := a.Stamp(t.Context(), contentDigest[:])
	require.NoError(t, err)
	token, err := cms.ParseTokenStrict(der)
	require.NoError(t, err)
	require.NoError(t, token.Verify(contentDigest[:]))
	require.Nil(t, token.Token)
	require.Equal(t, token.Chain(), token.Certificates)
	again, err := cms.Normalize(der)
	require.NoError(t, err)
	require.Equal(t, der, again)
}

// authority issues certificates and revocation statements.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority"}, NotBefore: start, NotAfter: start.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	a := &authority{key: key}
	a.cert = a.sign(t, tmpl, tmpl, key.Public())
	return a
}

func (a *authority) sign(t *testing.T, c, by *x509.Certificate, key crypto.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by, key, a.key)
	require.NoError(t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return made
}

func (a *authority) issue(t *testing.T, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "Somebody"}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		OCSPServer: []string{"http://ocsp.example"}, KeyUsage: x509.KeyUsageDigitalSignature,
	}, a.cert, key.Public())
}

// TestStatement_OfAnotherCertificate_IsRejected checks that a statement is accepted only for its own certificate, only
// from that certificate's issuer, and only in canonical form.
func TestStatement_OfAnotherCertificate_IsRejected(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	c, another := a.issue(t, 7), a.issue(t, 8)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}, a.cert, a.key)
	require.NoError(t, err)
	answer, err := ocsp.CreateResponse(a.cert, a.cert, ocsp.Response{
		Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), Certificate: a.cert,
	}, a.key)
	require.NoError(t, err)

	require.Error(t, cms.Statement{OCSP: answer}.CheckValid(c, a.cert), "it contains the issuer's certificate, which is not needed")
	answer, err = cms.NormalizeOCSP(answer, c, a.cert)
	require.NoError(t, err)
	crl, err = cms.NormalizeCRL(crl, a.cert)
	require.NoError(t, err)
	for name, s := range map[string]cms.Statement{"OCSP": {OCSP: answer}, "CRL": {CRL: crl}} {
		require.NoError(t, s.CheckValid(c, a.cert), name)
		require.Error(t, s.CheckValid(c, other.cert), name)
		both := append(s.OCSP[:len(s.OCSP):len(s.OCSP)], s.CRL...)
		for at := range both {
			changed := append([]byte{}, both...)
			changed[at] ^= 1
			one := cms.Statement{OCSP: changed}
			if s.CRL != nil {
				one = cms.Statement{CRL: changed}
			}
			require.Error(t, one.CheckValid(c, a.cert), "%s: byte %d", name, at)
		}
		trailing := cms.Statement{OCSP: append(both, 0)}
		if s.CRL != nil {
			trailing = cms.Statement{CRL: append(both, 0)}
		}
		require.Error(t, trailing.CheckValid(c, a.cert), name)
	}
	require.Error(t, cms.Statement{OCSP: answer}.CheckValid(another, a.cert), "it is about another certificate")
	require.Error(t, cms.Statement{OCSP: answer, CRL: crl}.CheckValid(c, a.cert))
	require.Error(t, cms.Statement{}.CheckValid(c, a.cert))
}
