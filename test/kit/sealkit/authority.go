package sealkit

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/test/kit"
)

// Authority is a certificate authority with an OCSP server and a time-stamp authority. Only the time-stamp authority
// uses openssl.
type Authority struct {
	Key   *ecdsa.PrivateKey
	Cert  *x509.Certificate
	Roots *x509.CertPool
	Ocsp  *httptest.Server
	TSA   *kit.TSA

	Revoked atomic.Bool
	UseCRL  bool
}

// NewAuthority starts an authority that issues certificates, time-stamps and OCSP responses.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{Roots: x509.NewCertPool()}
	var err error
	a.Key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	// The certificate must be valid at the time of the job, and also at the current time, which openssl uses for
	// time-stamps.
	start := Now.AddDate(0, 0, -1)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"}, NotBefore: start, NotAfter: start.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, a.Key.Public(), a.Key)
	require.NoError(t, err)
	a.Cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.Roots.AddCert(a.Cert)
	a.Ocsp = httptest.NewServer(http.HandlerFunc(a.AnswerStatus))
	t.Cleanup(a.Ocsp.Close)
	c, key := a.Issue(t, "Test time-stamp authority", 3, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, true)
	a.TSA = kit.ServeTSA(t, c, a.Cert, key)
	return a
}

// Issue returns a new certificate and its key.
func (a *Authority) Issue(t *testing.T, name string, serial int64, usage asn1.ObjectIdentifier, online bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: a.Cert.NotBefore, NotAfter: a.Cert.NotBefore.AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	value, err := asn1.Marshal([]asn1.ObjectIdentifier{usage})
	require.NoError(t, err)
	tmpl.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: value}}
	if online && a.UseCRL {
		tmpl.CRLDistributionPoints = []string{a.Ocsp.URL + "/crl"}
	} else if online {
		tmpl.OCSPServer = []string{a.Ocsp.URL}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.Cert, key.Public(), a.Key)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c, key
}

// AnswerStatus responds to OCSP requests and serves the revocation list.
func (a *Authority) AnswerStatus(w http.ResponseWriter, r *http.Request) {
	present := time.Now()
	if r.URL.Path == "/crl" {
		list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}
		if a.Revoked.Load() {
			list.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: big.NewInt(2), RevocationTime: present.AddDate(-9, 0, 0)}}
		}
		der, err := x509.CreateRevocationList(rand.Reader, list, a.Cert, a.Key)
		if err == nil {
			_, _ = w.Write(der)
		}
		return
	}
	body, _ := io.ReadAll(r.Body)
	req, err := ocsp.ParseRequest(body)
	if err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	answer := ocsp.Response{Status: ocsp.Good, SerialNumber: req.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), IssuerHash: crypto.SHA256}
	if a.Revoked.Load() {
		answer.Status, answer.RevokedAt = ocsp.Revoked, present.AddDate(-9, 0, 0)
	}
	der, err := ocsp.CreateResponse(a.Cert, a.Cert, answer, a.Key)
	if err == nil {
		_, _ = w.Write(der)
	}
}

// Keys returns a fixture with a sealing certificate and time-stamps from the authority.
func (a *Authority) Keys(t *testing.T) Fixture {
	t.Helper()
	k := NewFixture(t)
	c, key := a.Issue(t, "Countersign", 2, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36}, true)
	k.Config.Signer, k.Config.Chain = key, []*x509.Certificate{c, a.Cert}
	k.Config.TSAURL, k.Config.HTTPClient = a.TSA.URL, &http.Client{Timeout: time.Minute}
	k.Config.Now = time.Now
	k.CA, k.TSA = a.Cert, a.Roots
	require.NoError(t, os.WriteFile(k.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Cert.Raw}), 0o600))
	return k
}
