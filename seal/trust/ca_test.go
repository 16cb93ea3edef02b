package trust_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/trust"
)

// start is the beginning of the validity period of every test authority.
var start = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// year returns the time n years after start.
func year(n float64) time.Time { return start.Add(time.Duration(n * 365 * 24 * float64(time.Hour))) }

var (
	documentSigning  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36}
	microsoftSigning = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 10, 3, 12}
	adobeSigning     = asn1.ObjectIdentifier{1, 2, 840, 113583, 1, 1, 5}
	timeStamping     = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
)

// identity is a certificate with its key.
type identity struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	by   *identity // issuer; nil if self-signed
}

var serial = make(chan int64, 1) //nolint:gochecknoglobals // counts certificates

func init() { serial <- 1 } //nolint:gochecknoinits // as above

// issue issues a certificate. The argument by is the issuer, or nil for a root certificate.
func issue(t testing.TB, by *identity, tmpl *x509.Certificate) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return issueFor(t, by, tmpl, key)
}

func issueFor(t testing.TB, by *identity, tmpl *x509.Certificate, key *ecdsa.PrivateKey) *identity {
	t.Helper()
	n := <-serial
	serial <- n + 1
	tmpl.SerialNumber = big.NewInt(n)
	if tmpl.NotBefore.IsZero() {
		tmpl.NotBefore = start
	}
	if tmpl.NotAfter.IsZero() {
		tmpl.NotAfter = year(20)
	}
	made := &identity{t: t, key: key, by: by}
	parent, with := tmpl, key
	if by != nil {
		parent, with = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), with)
	require.NoError(t, err)
	made.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return made
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
}

// sealing returns the template of a valid sealing certificate.
func sealing(organization string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "Document seal", Organization: []string{organization}}, KeyUsage: x509.KeyUsageDigitalSignature,
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{documentSigning},
	}
}

// stamping returns the template of a valid time-stamp authority.
func stamping() *x509.Certificate { return stampingWith(true, timeStamping) }

func stampingWith(critical bool, usages ...asn1.ObjectIdentifier) *x509.Certificate {
	value, err := asn1.Marshal(usages)
	if err != nil {
		panic(err)
	}
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "Time-stamps"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: critical, Value: value}},
	}
}

func (i *identity) chain() []*x509.Certificate {
	var out []*x509.Certificate
	for ; i != nil; i = i.by {
		out = append(out, i.cert)
	}
	return out
}

// crl returns a revocation list issued by i. The argument change is a function that can modify the list before it is
// signed.
func (i *identity) crl(at time.Time, change func(*x509.RevocationList)) []byte {
	i.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: at, NextUpdate: at.AddDate(0, 0, 7)}
	if change != nil {
		change(list)
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, i.cert, i.key)
	require.NoError(i.t, err)
	return der
}

func revoking(c *identity, at time.Time, reason int) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) {
		l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: c.cert.SerialNumber, RevocationTime: at, ReasonCode: reason}}
	}
}

func (i *identity) ocsp(c, responder *identity, at time.Time, change func(*ocsp.Response)) []byte {
	i.t.Helper()
	r := ocsp.Response{Status: ocsp.Good, SerialNumber: c.cert.SerialNumber, ThisUpdate: at, NextUpdate: at.AddDate(0, 0, 7), IssuerHash: crypto.SHA256}
	if responder != i {
		r.Certificate = responder.cert
	}
	if change != nil {
		change(&r)
	}
	der, err := ocsp.CreateResponse(i.cert, responder.cert, r, responder.key)
	require.NoError(i.t, err)
	return der
}

func pool(certs ...*identity) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c.cert)
	}
	return p
}

func evaluate(t testing.TB, p trust.Policy, in trust.Seal, now time.Time) trust.Evaluation {
	t.Helper()
	return p.Evaluate(in, now)
}
