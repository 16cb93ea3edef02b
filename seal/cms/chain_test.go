package cms_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/cms"
	"countersign/seal/trust"
)

// below returns an authority that is certified by the authority a. Like real authorities, it can have any name.
func (a *authority) below(t *testing.T, name string, key *ecdsa.PrivateKey) *authority {
	t.Helper()
	if key == nil {
		var err error
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
	}
	return &authority{key: key, cert: a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, a.cert, key.Public())}
}

// TestSignature_Chain checks that the chain is built from signatures rather than only from names, and that a seal
// contains exactly that chain in order.
func TestSignature_Chain(t *testing.T) {
	t.Parallel()
	root := newAuthority(t)
	middle := root.below(t, "Middle", nil)
	impostor := root.below(t, "Middle", nil)
	key, c := issueKey(t, middle)
	carrying := func(certs []*x509.Certificate) []byte {
		f := forge(t, key, c, middle.cert, root.cert)
		list := find(f.root, 1, 0, 3)
		list.children = nil
		for _, c := range certs {
			list.children = append(list.children, readElements(t, c.Raw)[0])
		}
		return f.sign(t)
	}
	with := func(certs ...*x509.Certificate) (*cms.Signed, error) {
		der := carrying(certs)
		s, err := cms.Parse(der)
		require.NoError(t, err)
		_, strict := cms.ParseStrict(der)
		return s, strict
	}
	full := []*x509.Certificate{c, middle.cert, root.cert}
	s, err := with(full...)
	require.NoError(t, err)
	require.Equal(t, full, s.Chain())
	turned, _ := with(middle.cert, root.cert, c)
	require.Equal(t, full, turned.Chain(), "regardless of the order of the certificates")

	for n := 1; n <= 2; n++ {
		s, err = with(full[:n]...)
		require.NoError(t, err, "the chain may end earlier")
		require.Equal(t, full[:n], s.Chain())
	}
	for name, certs := range map[string][]*x509.Certificate{
		"another order":             {c, root.cert, middle.cert},
		"the signer last":           {middle.cert, root.cert, c},
		"a gap":                     {c, root.cert},
		"one of the same name":      {c, impostor.cert, middle.cert, root.cert},
		"one of the same name last": {c, middle.cert, root.cert, impostor.cert},
		"one twice":                 {c, middle.cert, middle.cert},
	} {
		s, err := with(certs...)
		require.ErrorIs(t, err, cms.ErrStructure, name)
		require.NotContains(t, s.Chain(), impostor.cert, name)
		require.NoError(t, s.Verify(contentDigest[:]), name)
	}
	// Regardless of the certificates in the message, its canonical form contains only the chain.
	for _, certs := range [][]*x509.Certificate{full, {root.cert, impostor.cert, middle.cert, c}, {c, root.cert}} {
		f := carrying(certs)
		normal, err := cms.Normalize(f)
		require.NoError(t, err)
		s, err := cms.Parse(f)
		require.NoError(t, err)
		again, err := cms.ParseStrict(normal)
		require.NoError(t, err)
		require.Equal(t, s.Chain(), again.Certificates)
	}
	// A root with an invalid self-signature is excluded, but the signer's certificate always belongs to the chain.
	changed := *root.cert
	changed.Signature = append([]byte{changed.Signature[0] ^ 1}, changed.Signature[1:]...)
	require.Equal(t, []*x509.Certificate{middle.cert}, (&cms.Signed{Certificate: middle.cert, Certificates: []*x509.Certificate{&changed}}).Chain())
	require.Equal(t, []*x509.Certificate{&changed}, (&cms.Signed{Certificate: &changed}).Chain())
	// The chain must end even if two authorities certified each other.
	other := root.below(t, "Other", nil)
	crossed := other.below(t, "Middle", middle.key)
	back := middle.below(t, "Other", other.key)
	s, err = with(c, crossed.cert, back.cert)
	require.ErrorIs(t, err, cms.ErrStructure)
	require.LessOrEqual(t, len(s.Chain()), 4)
}

// TestSignature_LargerValue_IsRejected checks that a seal is rejected if it has the larger of the two valid signature
// values.
func TestSignature_LargerValue_IsRejected(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, c := issueKey(t, ca)
	f := forge(t, key, c, ca.cert)
	small := f.sign(t)
	s, err := cms.ParseStrict(small)
	require.NoError(t, err)
	var sig struct{ R, S *big.Int }
	_, err = asn1.Unmarshal(s.Signature, &sig)
	require.NoError(t, err)
	sig.S.Sub(elliptic.P256().Params().N, sig.S)
	f.signer().children[5] = value(t, value(t, sig).write(t))
	great := f.root.write(t)
	s, err = cms.Parse(great)
	require.NoError(t, err)
	require.NoError(t, s.Verify(contentDigest[:]), "the alternative value is also valid")
	_, err = cms.ParseStrict(great)
	require.ErrorContains(t, err, "not the smaller of the two")
	normal, err := cms.Normalize(great)
	require.NoError(t, err)
	require.Equal(t, small, normal)
	f.signer().children[5] = value(t, append(value(t, sig).write(t), 0))
	_, err = cms.ParseStrict(f.root.write(t))
	require.Error(t, err, "a byte after the signature must be rejected")
}

// TestNewSigner_AllowedKeys checks that a Signer accepts only P-256 and RSA keys with a matching certificate and a
// valid chain.
func TestNewSigner_AllowedKeys(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	issue := func(pub crypto.PublicKey) *x509.Certificate {
		return ca.sign(t, &x509.Certificate{SerialNumber: big.NewInt(5), NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter}, ca.cert, pub)
	}
	good, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	short, err := rsa.GenerateKey(rand.Reader, 2047)
	require.NoError(t, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		key   crypto.Signer
		chain []*x509.Certificate
		says  string
	}{
		"P-256":                 {good, []*x509.Certificate{issue(good.Public()), ca.cert}, ""},
		"RSA":                   {long, []*x509.Certificate{issue(long.Public())}, ""},
		"no key":                {nil, []*x509.Certificate{ca.cert}, "a key and its certificate are required"},
		"no certificate":        {good, nil, "a key and its certificate are required"},
		"P-384":                 {curve, []*x509.Certificate{issue(curve.Public())}, "curve is P-256"},
		"RSA of 2047 bits":      {short, []*x509.Certificate{issue(short.Public())}, "at least 2048 bits"},
		"Ed25519":               {edwards, []*x509.Certificate{issue(edwards.Public())}, "are not supported"},
		"another's certificate": {good, []*x509.Certificate{issue(long.Public())}, "does not belong"},
		"another's issuer":      {good, []*x509.Certificate{issue(good.Public()), other.cert}, "certificate 1 did not issue certificate 0"},
	} {
		s, err := cms.NewSigner(c.key, c.chain, rand.Reader)
		if c.says != "" {
			require.ErrorContains(t, err, c.says, name)
			continue
		}
		require.NoError(t, err, name)
		der, err := s.Sign(context.Background(), contentDigest, func(_ context.Context, digest []byte) ([]byte, error) { return value(t, digest).write(t), nil })
		require.NoError(t, err, name)
		parsed, err := cms.ParseStrict(der)
		require.NoError(t, err, name)
		require.NoError(t, parsed.Verify(contentDigest[:]), name)
		require.Equal(t, value(t, sum2(parsed.Signature)).write(t), parsed.Token, "the stamp covers the signature value")
	}
}

// server starts a server with the given handler, and returns its URL and a request counter.
func server(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (string, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, &asked
}

// TestFetchStatement_Requests checks that OCSP is used if the certificate specifies a responder, that the revocation
// list is used otherwise, and that invalid responses result in an error.
func TestFetchStatement_Requests(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	issue := func(responder, list []string) *x509.Certificate {
		return ca.sign(t, &x509.Certificate{
			SerialNumber: big.NewInt(7), NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter, OCSPServer: responder, CRLDistributionPoints: list,
		}, ca.cert, key.Public())
	}
	revoked := present.Add(-time.Hour)
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: revoked}},
	}, ca.cert, ca.key)
	require.NoError(t, err)
	answer, err := ocsp.CreateResponse(ca.cert, ca.cert, ocsp.Response{
		Status: ocsp.Good, SerialNumber: big.NewInt(7), ThisUpdate: present, NextUpdate: present.Add(time.Hour),
	}, ca.key)
	require.NoError(t, err)
	write := func(b []byte) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) }
	}
	responder, askedResponder := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/ocsp-request" {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(answer)
	})
	lists, askedLists := server(t, write(list))

	c := issue([]string{responder}, []string{lists})
	byOCSP, byCRL := cms.RevocationSources(c)
	require.Equal(t, []bool{true, false}, []bool{byOCSP, byCRL})
	s, err := cms.FetchStatement(t.Context(), http.DefaultClient, c, ca.cert)
	require.NoError(t, err)
	require.NoError(t, s.CheckValid(c, ca.cert))
	require.NotNil(t, s.OCSP)
	require.EqualValues(t, 1, askedResponder.Load())
	require.Zero(t, askedLists.Load())
	require.NoError(t, s.CheckGood(c, ca.cert, present))

	c = issue(nil, []string{lists})
	byOCSP, byCRL = cms.RevocationSources(c)
	require.Equal(t, []bool{false, true}, []bool{byOCSP, byCRL})
	s, err = cms.FetchStatement(t.Context(), http.DefaultClient, c, ca.cert)
	require.NoError(t, err)
	require.NoError(t, s.CheckValid(c, ca.cert))
	require.NotNil(t, s.CRL)
	require.ErrorIs(t, s.CheckGood(c, ca.cert, present), cms.ErrRevoked)
	require.ErrorIs(t, s.CheckGood(c, ca.cert, revoked), cms.ErrRevoked)
	require.NoError(t, s.CheckGood(c, ca.cert, revoked.Add(-time.Second)), "the certificate was valid at that time")
	require.ErrorIs(t, cms.Statement{}.CheckGood(c, ca.cert, present), cms.ErrNoEvidence)

	c = issue(nil, nil)
	byOCSP, byCRL = cms.RevocationSources(c)
	require.Equal(t, []bool{false, false}, []bool{byOCSP, byCRL})
	s, err = cms.FetchStatement(t.Context(), http.DefaultClient, c, ca.cert)
	require.NoError(t, err)
	require.Equal(t, cms.Statement{}, s)

	for says, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"HTTP status 404": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(list)
		},
		"is too large": write(append(slices.Clone(list), make([]byte, 4<<20-len(list)+1)...)),
		"is malformed": write(append(slices.Clone(list), make([]byte, 4<<20-len(list))...)),
	} {
		url, _ := server(t, answer)
		_, err := cms.FetchStatement(t.Context(), http.DefaultClient, issue(nil, []string{url}), ca.cert)
		require.ErrorContains(t, err, says)
		_, err = cms.FetchStatement(t.Context(), http.DefaultClient, issue([]string{url}, nil), ca.cert)
		require.Error(t, err, says)
	}
	_, err = cms.FetchStatement(t.Context(), http.DefaultClient, issue(nil, []string{"http://bad address"}), ca.cert)
	require.ErrorContains(t, err, "invalid address of revocation data")
}

// TestRevocationLists_HaveOneForm checks that a list is rejected if its issuer's name or signature does not match the
// certificate's issuer, or if data follows it.
func TestRevocationLists_HaveOneForm(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	renamed := ca.below(t, "Renamed", ca.key)
	list := func(by *authority) []byte {
		der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}, by.cert, by.key)
		require.NoError(t, err)
		return der
	}
	good, err := cms.NormalizeCRL(list(ca), ca.cert)
	require.NoError(t, err)
	_, err = cms.NormalizeCRL(list(renamed), renamed.cert)
	require.NoError(t, err)
	_, err = cms.NormalizeCRL(list(renamed), ca.cert)
	require.ErrorContains(t, err, "not from the certificate's issuer", "the same key under another name")
	_, err = cms.NormalizeCRL(list(newAuthority(t)), ca.cert)
	require.ErrorContains(t, err, "not from the certificate's issuer", "the same name with another key")
	_, err = cms.NormalizeCRL(append(good, 0), ca.cert)
	require.ErrorContains(t, err, "malformed")
	root := readElements(t, good)[0]
	root.children[2].head.Bytes = nil
	_, err = cms.NormalizeCRL(root.write(t), ca.cert)
	require.ErrorContains(t, err, "malformed")
}

// TestOCSP_RespondersAreCertified checks that a responder other than the issuer must be certified for OCSP by the
// issuer.
func TestOCSP_RespondersAreCertified(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := ca.issue(t, 7)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	answer := func(usage []x509.ExtKeyUsage, isCA bool) []byte {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		responder := ca.sign(t, &x509.Certificate{
			SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "Responder"}, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter,
			ExtKeyUsage: usage, IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		}, ca.cert, key.Public())
		der, err := ocsp.CreateResponse(ca.cert, responder, ocsp.Response{
			Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), Certificate: responder,
		}, key)
		require.NoError(t, err)
		return der
	}
	normal, err := cms.NormalizeOCSP(answer([]x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}, false), c, ca.cert)
	require.NoError(t, err)
	require.NoError(t, cms.Statement{OCSP: normal}.CheckValid(c, ca.cert), "the response contains the responder's certificate")
	for name, der := range map[string][]byte{
		"for nothing":     answer(nil, false),
		"for servers":     answer([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, false),
		"for others, too": answer([]x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}, true),
		"as an issuer":    answer(nil, true),
	} {
		_, err := cms.NormalizeOCSP(der, c, ca.cert)
		require.ErrorContains(t, err, "not authorized for OCSP", name)
	}
	// An RSA signature must also be in canonical form.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "RSA"}, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	root, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	der, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(7), NotBefore: root.NotBefore, NotAfter: root.NotAfter}, root, c.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	der, err = ocsp.CreateResponse(root, root, ocsp.Response{Status: ocsp.Good, SerialNumber: big.NewInt(7), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}, key)
	require.NoError(t, err)
	normal, err = cms.NormalizeOCSP(der, leaf, root)
	require.NoError(t, err)
	require.Equal(t, der, normal)
}

// TestOCSP_LargeResponderKey_IsRejectedFirst checks that a responder's key that is too large is rejected before it is
// used.
func TestOCSP_LargeResponderKey_IsRejectedFirst(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := ca.issue(t, 7)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	modulus := new(big.Int).SetBit(big.NewInt(1), trust.MaxRSABits, 1)
	responder := ca.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "Responder"}, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning},
	}, ca.cert, &rsa.PublicKey{N: modulus, E: 65537})
	der, err := ocsp.CreateResponse(ca.cert, responder, ocsp.Response{
		Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), Certificate: responder,
	}, ca.key)
	require.NoError(t, err)
	_, err = cms.NormalizeOCSP(der, c, ca.cert)
	require.ErrorContains(t, err, "key is too large")
}

// TestOCSP_ResponsesAreBounded checks that a response that is too large is rejected before it is parsed.
func TestOCSP_ResponsesAreBounded(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	_, err := cms.NormalizeOCSP(make([]byte, trust.MaxOCSP+1), ca.issue(t, 7), ca.cert)
	require.ErrorContains(t, err, "the OCSP response is too large")
}

// TestOCSP_ResponsesWithSHA1 checks that statements signed with SHA-1 are rejected, because SHA-1 is not secure.
func TestOCSP_ResponsesWithSHA1(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := ca.issue(t, 7)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for algorithm, ok := range map[x509.SignatureAlgorithm]bool{x509.ECDSAWithSHA256: true, x509.ECDSAWithSHA512: true, x509.ECDSAWithSHA1: false} {
		der, err := ocsp.CreateResponse(ca.cert, ca.cert, ocsp.Response{
			Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour), SignatureAlgorithm: algorithm,
		}, ca.key)
		require.NoError(t, err)
		_, err = cms.NormalizeOCSP(der, c, ca.cert)
		if ok {
			require.NoError(t, err, "%s", algorithm)
		} else {
			require.ErrorContains(t, err, "not supported", "%s", algorithm)
		}
	}
}

// TestTimestamp_Request checks the format of the request (RFC 3161), and that only a response with status 200 is
// accepted.
func TestTimestamp_Request(t *testing.T) {
	t.Parallel()
	var kind atomic.Value
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		kind.Store(r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	a := &cms.Authority{URL: url, Client: http.DefaultClient, Rand: rand.Reader}
	_, err := a.Stamp(t.Context(), contentDigest[:])
	require.ErrorContains(t, err, "HTTP status 503")
	require.Equal(t, "application/timestamp-query", kind.Load())
	a.URL = "http://bad address"
	_, err = a.Stamp(t.Context(), contentDigest[:])
	require.ErrorContains(t, err, "invalid address of the time-stamp authority")
}
