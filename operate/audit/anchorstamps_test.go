package audit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/operate/audit"
	"countersign/seal/trust"
	"countersign/test/kit"
)

type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue issues a certificate. If the issuer is nil, the certificate is a self-signed root.
func (i *issuer) issue(t *testing.T, serial int64, c *x509.Certificate) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c.SerialNumber, c.NotBefore = big.NewInt(serial), kit.NewClock().Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = c.NotBefore.AddDate(30, 0, 0)
	}
	parent, with := c, key
	if i != nil {
		parent, with = i.cert, i.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), with)
	require.NoError(t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &issuer{t, made, key}
}

func rootOf(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

// serve starts a time-stamp authority with a certificate that expires at the given time.
func (i *issuer) serve(until time.Time) *kit.TSA {
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	require.NoError(i.t, err)
	leaf := i.issue(i.t, 7, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Stamps of " + i.cert.Subject.CommonName}, NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: usage}},
	})
	return kit.ServeTSA(i.t, leaf.cert, i.cert, leaf.key)
}

// revoking returns a revocation list that contains the authority's certificate.
func (i *issuer) revoking(at time.Time, reason int) []byte {
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: at, NextUpdate: at.AddDate(1, 0, 0),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: at, ReasonCode: reason}},
	}, i.cert, i.key)
	require.NoError(i.t, err)
	return der
}

// TestAnchors_OfTrustedAuthorities checks that the authorities of anchors are judged by the same rules as in a
// verification.
func TestAnchors_OfTrustedAuthorities(t *testing.T) {
	t.Parallel()
	a := newAuditFixture(t, "sqlite")
	present := a.clock.Now()
	end := present.AddDate(1, 0, 0)
	first, second := (*issuer)(nil).issue(t, 1, rootOf("First")), (*issuer)(nil).issue(t, 1, rootOf("Second"))
	tls := rootOf("For servers")
	tls.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	pool := func(of ...*issuer) *x509.CertPool {
		p := x509.NewCertPool()
		for _, i := range of {
			p.AddCert(i.cert)
		}
		return p
	}
	anchor := func(tsa *kit.TSA) {
		a.clock.Add(24 * time.Hour)
		_, err := audit.Anchorer{Store: a.Store, Blobs: a.blobs, Authority: authority(tsa), Now: a.clock.Now}.Run(t.Context())
		require.NoError(t, err)
	}
	// reports returns the problems of the anchors, and whether each anchor is trusted.
	reports := func(roots *x509.CertPool, at time.Time, lists ...[]byte) (problems string, trusted []bool) {
		v := a.Verifier
		v.TSARoots, v.Now, v.Revocation = roots, func() time.Time { return at }, trust.Evidence{CRLs: lists}
		require.NoError(t, v.All(t.Context(), func(r *audit.Report) error {
			if r.Anchor != nil {
				problems += strings.Join(r.Problems, "\n") + "\n"
				trusted = append(trusted, r.Anchor.Trusted)
				require.NotNil(t, r.Anchor.StampedAt)
			}
			return nil
		}))
		return problems, trusted
	}
	anchor(first.serve(end))
	anchor(first.serve(end))

	problems, trusted := reports(nil, end.AddDate(9, 0, 0))
	assert.Empty(t, strings.TrimSpace(problems), "no trusted authority is specified")
	assert.Equal(t, []bool{false, false}, trusted)
	problems, trusted = reports(pool(first), end.Add(-time.Minute))
	assert.Empty(t, strings.TrimSpace(problems))
	assert.Equal(t, []bool{true, true}, trusted)
	problems, trusted = reports(pool(second), present.Add(time.Minute))
	assert.Equal(t, 2, strings.Count(problems, "Stamps of First, which is not trusted"), "a foreign authority: %s", problems)
	assert.Equal(t, []bool{false, false}, trusted)
	problems, trusted = reports(pool(first), end.Add(time.Minute))
	assert.Equal(t, 2, strings.Count(problems, "which does not cover "+end.Add(time.Minute).Format(time.RFC3339)), "the certificate has expired, and no later anchor proves a time: %s", problems)
	assert.Equal(t, []bool{false, false}, trusted)
	problems, _ = reports(pool(first), present.Add(-time.Hour))
	assert.Contains(t, problems, "but already existed at", "time-stamps from the future")

	// If a key is compromised, all of its time-stamps become invalid. If a certificate is superseded, only later
	// time-stamps become invalid.
	later := present.Add(time.Hour)
	problems, trusted = reports(pool(first), later.Add(time.Hour), first.revoking(later, 1))
	assert.Equal(t, 2, strings.Count(problems, "the certificate of Stamps of First was revoked"), problems)
	assert.Equal(t, []bool{false, false}, trusted)
	problems, _ = reports(pool(first), later.Add(time.Hour), first.revoking(later, 4))
	assert.Empty(t, strings.TrimSpace(problems))
	problems, _ = reports(pool(first), later.Add(time.Hour), second.revoking(later, 1))
	assert.Empty(t, strings.TrimSpace(problems), "another authority's revocation list has no effect")

	// The next anchor is from another authority. It proves when the earlier anchors existed, so these remain valid
	// after the certificates of their authorities have expired.
	anchor(second.serve(end.AddDate(5, 0, 0)))
	problems, trusted = reports(pool(first, second), end.Add(time.Minute), first.revoking(later, 1))
	assert.Empty(t, strings.TrimSpace(problems))
	assert.Equal(t, []bool{true, true, true}, trusted)
	problems, trusted = reports(pool(first), end.Add(time.Minute))
	assert.Equal(t, []bool{false, false, false}, trusted, "unless that authority is not trusted: %s", problems)

	// This authority chains to a trusted root, but through an intermediate certificate that was issued for another
	// purpose.
	anchor(second.issue(t, 3, tls).serve(end))
	problems, trusted = reports(pool(first, second), present.Add(time.Minute))
	assert.Contains(t, problems, "Stamps of For servers, which is not trusted")
	assert.Equal(t, []bool{true, true, true, false}, trusted)
}
