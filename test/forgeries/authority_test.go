package forgeries_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"
)

// must panics if there is an error, which in this package is always a mistake in a test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// identity is a certificate with its key and its issuer.
type identity struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	issuer *identity // nil for a root
}

func (i *identity) chain() []*x509.Certificate {
	if i.issuer == nil {
		return []*x509.Certificate{i.cert}
	}
	return append([]*x509.Certificate{i.cert}, i.issuer.chain()...)
}

func (i *identity) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(i.cert)
	return p
}

// The object identifiers of extended key usages.
var (
	usageServer   = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 1}
	usageCode     = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 3}
	usageStamping = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
	usageOCSP     = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 9}
	usageDocument = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36} // RFC 9336
)

func extendedUsage(critical bool, usages ...asn1.ObjectIdentifier) pkix.Extension {
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: critical, Value: must(asn1.Marshal(usages))}
}

var (
	serials   = big.NewInt(100)
	serialsMu sync.Mutex
)

func nextSerial() *big.Int {
	serialsMu.Lock()
	defer serialsMu.Unlock()
	serials = new(big.Int).Add(serials, big.NewInt(1))
	return serials
}

func newRoot(name string) *identity {
	c := &x509.Certificate{
		SerialNumber: nextSerial(), Subject: pkix.Name{CommonName: name, Organization: []string{name}},
		NotBefore: sealTime.AddDate(-2, 0, 0), NotAfter: sealTime.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return &identity{cert: must(x509.ParseCertificate(der)), key: key}
}

// issue issues a certificate that is valid for five years around the time of sealing. If change is not nil, it modifies
// the template of the certificate.
func (i *identity) issue(name string, change func(c *x509.Certificate)) *identity {
	c := &x509.Certificate{
		SerialNumber: nextSerial(), Subject: pkix.Name{CommonName: name, Organization: []string{name}},
		NotBefore: sealTime.AddDate(-1, 0, 0), NotAfter: sealTime.AddDate(4, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if change != nil {
		change(c)
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must(x509.CreateCertificate(rand.Reader, c, i.cert, key.Public(), i.key))
	return &identity{cert: must(x509.ParseCertificate(der)), key: key, issuer: i}
}

func forSealing(c *x509.Certificate) {
	c.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment
	c.ExtraExtensions = []pkix.Extension{extendedUsage(false, usageDocument)}
}

func forStamping(c *x509.Certificate) {
	c.ExtraExtensions = []pkix.Extension{extendedUsage(true, usageStamping)}
}

// withOCSP and withCRL add the address of a revocation service to a certificate.
func withOCSP(i *identity, kind func(*x509.Certificate)) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		kind(c)
		c.OCSPServer = []string{"http://ocsp.test/" + i.cert.SerialNumber.String()}
	}
}

func withCRL(i *identity, kind func(*x509.Certificate)) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		kind(c)
		c.CRLDistributionPoints = []string{"http://crl.test/" + i.cert.SerialNumber.String()}
	}
}

// network simulates a time-stamp authority and revocation services, without using sockets.
type network struct {
	clock   func() time.Time
	tsa     *identity
	issuers map[string]*identity // by serial number
	revoked map[string]time.Time // by serial number
	tokens  func(*token)         // modifies time-stamps before they are signed
	others  int                  // number of additional certificates in every revocation list
}

func (n *network) client() *http.Client { return &http.Client{Transport: n} }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	var body, answer []byte
	if r.Body != nil {
		body = must(io.ReadAll(r.Body))
		check(r.Body.Close())
	}
	switch r.URL.Host {
	case "tsa.test":
		answer = n.stamp(body)
	case "ocsp.test":
		answer = n.status(n.issuers[r.URL.Path[1:]], body)
	case "crl.test":
		answer = n.list(n.issuers[r.URL.Path[1:]])
	default:
		panic("unexpected host " + r.URL.Host)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer)), Header: http.Header{}, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// lowSigner creates signatures with the smaller of the two possible ECDSA values, as the service requires.
type lowSigner struct{ *ecdsa.PrivateKey }

func (s lowSigner) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	der, err := s.PrivateKey.Sign(r, digest, opts)
	if err != nil {
		return nil, err
	}
	return lowS(der), nil
}

func (n *network) status(issuer *identity, body []byte) []byte {
	return n.statusOf(issuer, issuer, must(ocsp.ParseRequest(body)).SerialNumber)
}

// statusOf returns the OCSP response for a certificate, signed by responder.
func (n *network) statusOf(issuer, responder *identity, serial *big.Int) []byte {
	answer := ocsp.Response{
		Status: ocsp.Good, SerialNumber: serial, ThisUpdate: n.clock(), NextUpdate: n.clock().AddDate(0, 0, 7), IssuerHash: crypto.SHA256,
	}
	if at, ok := n.revoked[serial.String()]; ok {
		answer.Status, answer.RevokedAt = ocsp.Revoked, at
	}
	if responder != issuer {
		answer.Certificate = responder.cert
	}
	return must(ocsp.CreateResponse(issuer.cert, responder.cert, answer, lowSigner{responder.key}))
}

func (n *network) list(issuer *identity, change ...func(*x509.RevocationList)) []byte {
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: n.clock(), NextUpdate: n.clock().AddDate(0, 0, 7)}
	for serial, at := range n.revoked {
		number, _ := new(big.Int).SetString(serial, 10)
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: number, RevocationTime: at})
	}
	for i := range n.others {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(1<<40 + int64(i)), RevocationTime: sealTime})
	}
	for _, f := range change {
		f(list)
	}
	return must(x509.CreateRevocationList(rand.Reader, list, issuer.cert, lowSigner{issuer.key}))
}
