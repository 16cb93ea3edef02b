package trust_test

import (
	"crypto/x509"
	"encoding/asn1"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/trust"
)

// TestStampers checks which authorities' time-stamps are trusted.
func TestStampers(t *testing.T) {
	t.Parallel()
	root, other := issue(t, nil, authority("Time root")), issue(t, nil, authority("Other root"))
	leaf := issue(t, issue(t, nil, authority("Root")), sealing("Acme Ltd"))
	until := func(c *x509.Certificate, y float64) *x509.Certificate { c.NotAfter = year(y); return c }
	tls := authority("TLS")
	tls.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	anEncipherer := stamping()
	anEncipherer.KeyUsage = x509.KeyUsageKeyEncipherment
	authorityToo := authority("Authority that stamps")
	authorityToo.ExtraExtensions = stamping().ExtraExtensions
	named := pool(root)
	for name, c := range map[string]struct {
		pool *x509.CertPool
		tsa  *identity
		want trust.Status
	}{
		"named":                         {named, issue(t, root, stamping()), trust.Trusted},
		"nobody is named":               {nil, issue(t, root, stamping()), trust.Unknown},
		"an empty pool":                 {x509.NewCertPool(), issue(t, root, stamping()), trust.Untrusted},
		"of another authority":          {named, issue(t, other, stamping()), trust.Untrusted},
		"another purpose, too":          {named, issue(t, root, stampingWith(true, timeStamping, documentSigning)), trust.Untrusted},
		"not critical":                  {named, issue(t, root, stampingWith(false, timeStamping)), trust.Untrusted},
		"another purpose":               {named, issue(t, root, sealing("Acme Ltd")), trust.Untrusted},
		"any purpose":                   {named, issue(t, root, stampingWith(true, asn1.ObjectIdentifier{2, 5, 29, 37, 0})), trust.Untrusted},
		"a key not for signatures":      {named, issue(t, root, anEncipherer), trust.Untrusted},
		"an authority for certificates": {named, issue(t, root, authorityToo), trust.Untrusted},
		"under one for TLS":             {named, issue(t, issue(t, root, tls), stamping()), trust.Untrusted},
		"it has ended by now":           {named, issue(t, root, until(stamping(), 4)), trust.Untrusted},
		"it ended before the stamp":     {named, issue(t, root, until(stamping(), 1)), trust.Untrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, Stampers: c.pool}
			j := evaluate(t, p, trust.Seal{Certificates: leaf.chain(), Stamps: []trust.Stamp{{Certificates: c.tsa.chain(), Time: year(2)}}}, year(5))
			assert.Equal(t, c.want, j.Stamps[0].Status, "%v", j.Stamps[0])
			assert.Equal(t, c.want == trust.Trusted, !j.Proven.IsZero())
			assert.Equal(t, trust.Trusted, j.Sealer.Status, "the seal is evaluated at the current time: %v", j.Sealer)
		})
	}
}

// TestSeal_ByTheCAOfTheTSA_IsNotTrusted checks that an authority that is trusted for time-stamps is not trusted for
// seals, and vice versa.
func TestSeal_ByTheCAOfTheTSA_IsNotTrusted(t *testing.T) {
	t.Parallel()
	sealRoot, timeRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	tls := sealing("Acme Ltd")
	tls.ExtKeyUsage, tls.UnknownExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, nil
	p := trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(sealRoot.cert, "")}, Stampers: pool(timeRoot)}
	for _, leaf := range []*identity{issue(t, timeRoot, tls), issue(t, timeRoot, sealing("Acme Ltd"))} {
		j := evaluate(t, p, trust.Seal{Certificates: leaf.chain()}, year(1))
		assert.Equal(t, trust.Untrusted, j.Sealer.Status, "%v", j.Sealer)
	}
	leaf, tsa := issue(t, sealRoot, sealing("Acme Ltd")), issue(t, sealRoot, stamping())
	j := evaluate(t, p, trust.Seal{Certificates: leaf.chain(), Stamps: []trust.Stamp{{Certificates: tsa.chain(), Time: year(1)}}}, year(1))
	assert.Equal(t, trust.Untrusted, j.Stamps[0].Status, "%v", j.Stamps[0])
}

// TestRenewal checks that an inner time-stamp is evaluated at the time of the next outer one, and the seal at the time
// of the innermost one. The inner time-stamp and the seal may have expired long ago.
func TestRenewal(t *testing.T) {
	t.Parallel()
	root, timeRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	from := func(c *x509.Certificate, since, until float64) *x509.Certificate {
		c.NotBefore, c.NotAfter = year(since), year(until)
		return c
	}
	leaf := issue(t, root, from(sealing("Acme Ltd"), 0, 2))
	first, second, third := issue(t, timeRoot, from(stamping(), 0, 5)), issue(t, timeRoot, from(stamping(), 4, 9)), issue(t, timeRoot, from(stamping(), 8, 13))
	p := trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, Stampers: pool(timeRoot)}
	stamp := func(by *identity, at float64) trust.Stamp {
		return trust.Stamp{Certificates: by.chain(), Time: year(at)}
	}
	seal := trust.Seal{Certificates: leaf.chain(), Stamps: []trust.Stamp{stamp(third, 8.5), stamp(second, 4.5), stamp(first, 1)}}
	j := evaluate(t, p, seal, year(12))
	for _, f := range j.Stamps {
		assert.Equal(t, trust.Trusted, f.Status, "%v", f)
	}
	assert.Equal(t, year(1), j.Proven)
	assert.Equal(t, trust.Trusted, j.Sealer.Status, "%v", j.Sealer)

	for name, c := range map[string]struct {
		stamps []trust.Stamp
		now    float64
		want   []trust.Status
		sealer trust.Status
	}{
		"the outermost has ended": {seal.Stamps, 14, []trust.Status{trust.Untrusted, trust.Untrusted, trust.Untrusted}, trust.Untrusted},
		"one was renewed too late": {
			[]trust.Stamp{stamp(third, 8.5), stamp(first, 1)}, 12, []trust.Status{trust.Trusted, trust.Untrusted}, trust.Untrusted,
		},
		"times fall": {
			[]trust.Stamp{stamp(first, 1), stamp(first, 1.5)}, 1.8, []trust.Status{trust.Trusted, trust.Untrusted}, trust.Trusted,
		},
		"in the future": {[]trust.Stamp{stamp(first, 1.9)}, 1.8, []trust.Status{trust.Untrusted}, trust.Trusted},
		"only late stamps": {
			[]trust.Stamp{stamp(second, 4.5)}, 6, []trust.Status{trust.Trusted}, trust.Untrusted, // the sealing certificate had expired
		},
		"none": {nil, 6, nil, trust.Untrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := evaluate(t, p, trust.Seal{Certificates: leaf.chain(), Stamps: c.stamps}, year(c.now))
			var got []trust.Status
			for _, f := range j.Stamps {
				got = append(got, f.Status)
			}
			assert.Equal(t, c.want, got, "%v", j.Stamps)
			assert.Equal(t, c.sealer, j.Sealer.Status, "%v", j.Sealer)
		})
	}
}

// TestRevokedStamper checks the rules for revoked time-stamp authorities in RFC 3161, section 4.
func TestRevokedStamper(t *testing.T) {
	t.Parallel()
	const keyCompromise, superseded = 1, 4
	leaf := issue(t, nil, sealing("Acme Ltd"))
	timeRoot := issue(t, nil, authority("Time root"))
	between := issue(t, timeRoot, authority("Between"))
	tsa, outer := issue(t, between, stamping()), issue(t, timeRoot, stamping())
	p := trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, Stampers: pool(timeRoot)}
	inner := trust.Stamp{Certificates: tsa.chain(), Time: year(2)}
	renewed := trust.Stamp{Certificates: outer.chain(), Time: year(4)}
	ofTSA := func(at float64, reason int) trust.Evidence {
		return trust.Evidence{CRLs: [][]byte{between.crl(year(6), revoking(tsa, year(at), reason))}}
	}
	for name, c := range map[string]struct {
		stamps   []trust.Stamp
		evidence trust.Evidence
		want     trust.Status // status of the inner time-stamp
	}{
		"nothing is known":                         {[]trust.Stamp{inner}, trust.Evidence{}, trust.Trusted},
		"good":                                     {[]trust.Stamp{inner}, trust.Evidence{CRLs: [][]byte{between.crl(year(6), nil)}}, trust.Trusted},
		"revoked before":                           {[]trust.Stamp{inner}, ofTSA(1, superseded), trust.Untrusted},
		"stolen before":                            {[]trust.Stamp{inner}, ofTSA(1, keyCompromise), trust.Untrusted},
		"superseded after":                         {[]trust.Stamp{inner}, ofTSA(3, superseded), trust.Trusted},
		"stolen after":                             {[]trust.Stamp{inner}, ofTSA(3, keyCompromise), trust.Untrusted},
		"after, for no reason":                     {[]trust.Stamp{inner}, ofTSA(3, 0), trust.Untrusted},
		"stolen before it was renewed":             {[]trust.Stamp{renewed, inner}, ofTSA(3, keyCompromise), trust.Untrusted},
		"stolen after it was renewed":              {[]trust.Stamp{renewed, inner}, ofTSA(5, keyCompromise), trust.Trusted},
		"its authority was revoked":                {[]trust.Stamp{inner}, trust.Evidence{CRLs: [][]byte{timeRoot.crl(year(6), revoking(between, year(3), superseded))}}, trust.Untrusted},
		"its authority was revoked after renewal":  {[]trust.Stamp{renewed, inner}, trust.Evidence{CRLs: [][]byte{timeRoot.crl(year(6), revoking(between, year(5), 0))}}, trust.Trusted},
		"an OCSP answer says so":                   {[]trust.Stamp{inner}, trust.Evidence{OCSPs: [][]byte{between.ocsp(tsa, between, year(6), func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, year(1) })}}, trust.Untrusted},
		"said by somebody who has nothing to say ": {[]trust.Stamp{inner}, trust.Evidence{CRLs: [][]byte{timeRoot.crl(year(6), revoking(tsa, year(1), 0))}}, trust.Trusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := evaluate(t, p, trust.Seal{Certificates: leaf.chain(), Stamps: c.stamps, Evidence: c.evidence}, year(7))
			got := j.Stamps[len(j.Stamps)-1]
			assert.Equal(t, c.want, got.Status, "%v", got)
		})
	}
	require.Equal(t, trust.Untrusted, evaluate(t, p, trust.Seal{Certificates: leaf.chain(), Stamps: []trust.Stamp{{}}}, year(7)).Stamps[0].Status)
}

// TestRecordTime_MustBeConsistent checks that the certificate must be valid at the time claimed by the record, and that
// no time-stamp may be earlier than that time.
func TestRecordTime_MustBeConsistent(t *testing.T) {
	t.Parallel()
	root, timeRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	tmpl := sealing("Acme Ltd")
	tmpl.NotBefore, tmpl.NotAfter = year(1), year(10)
	leaf, tsa := issue(t, root, tmpl), issue(t, timeRoot, stamping())
	p := trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, Stampers: pool(timeRoot)}
	for name, c := range map[string]struct {
		claimed       time.Time
		sealer, stamp trust.Status
	}{
		"nothing is claimed":           {time.Time{}, trust.Trusted, trust.Trusted},
		"a moment before the stamp":    {year(4).Add(-time.Second), trust.Trusted, trust.Trusted},
		"clocks differ a little":       {year(4).Add(trust.Skew), trust.Trusted, trust.Trusted},
		"after the stamp":              {year(4).Add(trust.Skew + time.Second), trust.Trusted, trust.Untrusted},
		"before the certificate began": {year(1).Add(-trust.Skew - time.Second), trust.Untrusted, trust.Trusted},
		"after it has ended":           {year(11), trust.Untrusted, trust.Untrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trust.Seal{Certificates: leaf.chain(), Claimed: c.claimed, Stamps: []trust.Stamp{{Certificates: tsa.chain(), Time: year(4)}}}
			j := evaluate(t, p, in, year(5))
			assert.Equal(t, c.sealer, j.Sealer.Status, "%v", j.Sealer)
			assert.Equal(t, c.stamp, j.Stamps[0].Status, "%v", j.Stamps[0])
		})
	}
}
