package trust_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/trust"
)

func extension(id asn1.ObjectIdentifier, critical bool, value []byte) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) {
		l.ExtraExtensions = append(l.ExtraExtensions, pkix.Extension{Id: id, Critical: critical, Value: value})
	}
}

func both(a, b func(*x509.RevocationList)) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) { a(l); b(l) }
}

var oidPoint = asn1.ObjectIdentifier{2, 5, 29, 28} //nolint:gochecknoglobals // object identifier

// uriPoint returns an issuing distribution point with the given URI.
func uriPoint(uri string) []byte {
	name := append([]byte{0x86, byte(len(uri))}, uri...)
	full := append([]byte{0xa0, byte(len(name))}, name...)
	point := append([]byte{0xa0, byte(len(full))}, full...)
	return append([]byte{0x30, byte(len(point))}, point...)
}

// TestStatements_OnlyRelevantOnesCount checks that a statement counts only if it is about this certificate, is complete
// for it, and was issued by an authorized party.
func TestStatements_OnlyRelevantOnesCount(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	namesake := issue(t, nil, authority("Root"))
	tmpl := sealing("Acme Ltd")
	tmpl.CRLDistributionPoints = []string{"http://crl.example.com/a"}
	leaf, other := issue(t, root, tmpl), issue(t, root, sealing("Other"))
	delegate := func(by *identity, usage []x509.ExtKeyUsage, until float64) *identity {
		return issue(t, by, &x509.Certificate{
			Subject: pkix.Name{CommonName: "OCSP"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage, NotAfter: year(until),
		})
	}
	signsOCSP := []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}
	authorityDelegate := authority("OCSP authority")
	authorityDelegate.ExtKeyUsage = signsOCSP
	at := year(3)
	revoked := revoking(leaf, year(1), 0)
	crl := func(change func(*x509.RevocationList)) trust.Evidence {
		return trust.Evidence{CRLs: [][]byte{root.crl(at, change)}}
	}
	answer := func(by, responder *identity, change func(*ocsp.Response)) trust.Evidence {
		return trust.Evidence{OCSPs: [][]byte{by.ocsp(leaf, responder, at, change)}}
	}
	isRevoked := func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, year(1) }
	flip := func(e trust.Evidence) trust.Evidence {
		for _, list := range [][][]byte{e.OCSPs, e.CRLs} {
			for i := range list {
				list[i] = bytes.Clone(list[i])
				list[i][len(list[i])-3] ^= 1
			}
		}
		return e
	}
	for name, c := range map[string]struct {
		evidence      trust.Evidence
		good, revoked bool
	}{
		"nothing":                        {trust.Evidence{}, false, false},
		"OCSP by the authority":          {answer(root, root, nil), true, false},
		"OCSP: revoked":                  {answer(root, root, isRevoked), false, true},
		"OCSP: not known":                {answer(root, root, func(r *ocsp.Response) { r.Status = ocsp.Unknown }), false, false},
		"OCSP by a delegate":             {answer(root, delegate(root, signsOCSP, 20), nil), true, false},
		"OCSP by a delegate: revoked":    {answer(root, delegate(root, signsOCSP, 20), isRevoked), false, true},
		"delegate without OCSPSigning":   {answer(root, delegate(root, nil, 20), nil), false, false},
		"delegate for TLS":               {answer(root, delegate(root, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, 20), nil), false, false},
		"delegate of another authority":  {answer(root, delegate(namesake, signsOCSP, 20), nil), false, false},
		"delegate that had ended":        {answer(root, delegate(root, signsOCSP, 2), nil), false, false},
		"delegate that is an authority":  {answer(root, issue(t, root, authorityDelegate), nil), false, false},
		"the certificate about itself":   {answer(root, leaf, nil), false, false},
		"OCSP by a namesake":             {answer(namesake, namesake, nil), false, false},
		"OCSP about another certificate": {trust.Evidence{OCSPs: [][]byte{root.ocsp(other, root, at, nil)}}, false, false},
		"OCSP changed":                   {flip(answer(root, root, nil)), false, false},
		"OCSP with bytes behind":         {trust.Evidence{OCSPs: [][]byte{append(root.ocsp(leaf, root, at, nil), 0)}}, false, false},
		"OCSP with a critical extension": {answer(root, root, func(r *ocsp.Response) {
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}), false, false},
		"no OCSP at all":                  {trust.Evidence{OCSPs: [][]byte{{0x30, 3, 0x0a, 1, 1}, nil, []byte("no")}}, false, false},
		"CRL":                             {crl(nil), true, false},
		"CRL: revoked":                    {crl(revoked), false, true},
		"CRL about others":                {crl(revoking(other, year(1), 0)), true, false},
		"CRL of a namesake":               {trust.Evidence{CRLs: [][]byte{namesake.crl(at, nil)}}, false, false},
		"CRL changed":                     {flip(crl(nil)), false, false},
		"CRL with bytes behind":           {trust.Evidence{CRLs: [][]byte{append(root.crl(at, nil), 0)}}, false, false},
		"delta CRL":                       {crl(extension(asn1.ObjectIdentifier{2, 5, 29, 27}, true, []byte{2, 1, 1})), false, false},
		"delta CRL: revoked":              {crl(both(revoked, extension(asn1.ObjectIdentifier{2, 5, 29, 27}, true, []byte{2, 1, 1}))), false, false},
		"delta CRL, not marked critical":  {crl(extension(asn1.ObjectIdentifier{2, 5, 29, 27}, false, []byte{2, 1, 1})), false, false},
		"indirect CRL":                    {crl(extension(oidPoint, true, []byte{0x30, 3, 0x84, 1, 0xff})), false, false},
		"CRL for some reasons":            {crl(extension(oidPoint, true, []byte{0x30, 4, 0x83, 2, 5, 0x60})), false, false},
		"CRL for authorities":             {crl(extension(oidPoint, true, []byte{0x30, 3, 0x82, 1, 0xff})), false, false},
		"CRL for users":                   {crl(extension(oidPoint, true, []byte{0x30, 3, 0x81, 1, 0xff})), true, false},
		"CRL for attribute certificates":  {crl(extension(oidPoint, true, []byte{0x30, 3, 0x85, 1, 0xff})), false, false},
		"CRL of this distribution point":  {crl(extension(oidPoint, true, uriPoint("http://crl.example.com/a"))), true, false},
		"CRL of another one":              {crl(extension(oidPoint, true, uriPoint("http://crl.example.com/b"))), false, false},
		"distribution point, not read":    {crl(extension(oidPoint, true, []byte{4, 0})), false, false},
		"CRL with something critical":     {crl(extension(asn1.ObjectIdentifier{1, 2, 3}, true, []byte{5, 0})), false, false},
		"CRL with something not critical": {crl(extension(asn1.ObjectIdentifier{1, 2, 3}, false, []byte{5, 0})), true, false},
		"no CRL at all":                   {trust.Evidence{CRLs: [][]byte{nil, []byte("no")}}, false, false},
		"revoked and newer good answers": {trust.Evidence{
			OCSPs: [][]byte{root.ocsp(leaf, root, year(4), nil)}, CRLs: [][]byte{root.crl(year(4), nil), root.crl(year(2), revoked)},
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := trust.CombineStatements(c.evidence, leaf.cert, root.cert)
			assert.Equal(t, c.good, !k.Good.IsZero(), "good")
			assert.Equal(t, c.revoked, k.Revoked != nil, "revoked")
			if k.Revoked != nil {
				assert.Equal(t, year(1), k.Revoked.At)
			}
		})
	}
}

// TestAnIndirectEntry checks a list that also covers certificates issued by other authorities. Their serial numbers
// must not be confused with the issuer's own.
func TestAnIndirectEntry(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	der := root.crl(year(1), func(l *x509.RevocationList) {
		revoking(leaf, year(1), 0)(l)
		l.RevokedCertificateEntries[0].ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 29}, Critical: true, Value: []byte{0x30, 0}}}
	})
	require.Zero(t, trust.CombineStatements(trust.Evidence{CRLs: [][]byte{der}}, leaf.cert, root.cert))
}

// TestInvalidityDate checks that an invalidity date before the revocation applies.
func TestInvalidityDate(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	value, err := asn1.MarshalWithParams(year(2), "generalized")
	require.NoError(t, err)
	der := root.crl(year(5), func(l *x509.RevocationList) {
		revoking(leaf, year(4), 1)(l)
		l.RevokedCertificateEntries[0].ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 24}, Value: value}}
	})
	require.Equal(t, year(2), trust.CombineStatements(trust.Evidence{CRLs: [][]byte{der}}, leaf.cert, root.cert).Revoked.At)
}

// TestRevocationOfTheSeal checks the effect of revocation statements on the verdict for a document.
func TestRevocationOfTheSeal(t *testing.T) {
	t.Parallel()
	root, timeRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	between := issue(t, root, authority("Between"))
	leaf, tsa := issue(t, between, sealing("Acme Ltd")), issue(t, timeRoot, stamping())
	p := trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(root.cert, "")}, Stampers: pool(timeRoot)}
	stamped := []trust.Stamp{{Certificates: tsa.chain(), Time: year(3)}}
	good := func(at float64) [][]byte {
		return [][]byte{between.crl(year(at), nil), root.crl(year(at), nil)}
	}
	add := func(list [][]byte, more ...[]byte) [][]byte { return append(list, more...) }
	leafRevoked := func(at float64) []byte { return between.crl(year(6), revoking(leaf, year(at), 1)) }
	for name, c := range map[string]struct {
		crls   [][]byte
		stamps []trust.Stamp
		want   trust.Status
		code   string
	}{
		"nothing is known":              {nil, stamped, trust.Unknown, trust.CodeNothing},
		"nothing is known, no stamp":    {nil, nil, trust.Unknown, trust.CodeNothing},
		"good, made after":              {good(4), stamped, trust.Trusted, trust.CodeGood},
		"good, made at that moment":     {good(3), stamped, trust.Trusted, trust.CodeGood},
		"good, but made before":         {good(2.9), stamped, trust.Unknown, trust.CodeOlder},
		"good, but no stamp":            {good(4), nil, trust.Unknown, trust.CodeNotProven},
		"only about the leaf":           {[][]byte{between.crl(year(4), nil)}, stamped, trust.Unknown, trust.CodeAuthority},
		"revoked before":                {add(good(4), leafRevoked(2)), stamped, trust.Untrusted, trust.CodeRevoked},
		"revoked before, newer is good": {add(good(6), between.crl(year(4), revoking(leaf, year(2), 1))), stamped, trust.Untrusted, trust.CodeRevoked},
		"revoked after":                 {add(good(4), leafRevoked(5)), stamped, trust.Trusted, trust.CodeGood},
		"revoked after, but no stamp":   {add(good(4), leafRevoked(5)), nil, trust.Untrusted, trust.CodeRevoked},
		"revoked at that moment":        {add(good(4), leafRevoked(3)), stamped, trust.Untrusted, trust.CodeRevoked},
		"the authority was revoked":     {add(good(4), root.crl(year(6), revoking(between, year(2), 1))), stamped, trust.Untrusted, trust.CodeRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trust.Seal{Certificates: leaf.chain(), Stamps: c.stamps, Evidence: trust.Evidence{CRLs: c.crls}}
			j := evaluate(t, p, in, year(7))
			assert.Equal(t, c.want, j.Revocation.Status, "%v", j.Revocation)
			assert.Equal(t, c.code, j.Revocation.Code)
			assert.Equal(t, len(c.crls) > 0, j.HasStatements)
		})
	}
}

// TestManyStatements checks that the number of statements read is limited.
func TestManyStatements(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	list := root.crl(year(1), nil)
	e := trust.Evidence{CRLs: make([][]byte, 100_000), OCSPs: make([][]byte, 100_000)}
	for i := range e.CRLs {
		e.CRLs[i], e.OCSPs[i] = list, list
	}
	begin := time.Now()
	require.False(t, trust.CombineStatements(e, leaf.cert, root.cert).Good.IsZero())
	require.Less(t, time.Since(begin), 20*time.Second)
}

// TestCostlyStatements checks that malicious evidence costs no more than the limit, and that unchecked statements never
// count as good.
func TestCostlyStatements(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	good := root.ocsp(leaf, root, year(1), nil)
	weigh := func(answers ...[]byte) trust.RevocationStatus {
		return trust.CombineStatements(trust.Evidence{OCSPs: answers}, leaf.cert, root.cert)
	}
	require.False(t, weigh(good).Good.IsZero())

	n := new(big.Int).Lsh(big.NewInt(1), 60_000)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "OCSP"}, NotBefore: start, NotAfter: year(9),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, root.cert, &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 1<<31 - 1}, root.key)
	require.NoError(t, err)
	huge, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	require.Zero(t, weigh(root.ocsp(leaf, root, year(1), func(r *ocsp.Response) { r.Certificate = huge })), "a response with a responder key of 60,000 bits must not count")

	require.Zero(t, weigh(root.ocsp(leaf, root, year(1), func(r *ocsp.Response) {
		r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: make([]byte, 70_000)}}
	})), "a response of 70,000 bytes must not count")

	// Checking a response signed by an unrelated responder requires three checks. Too many such responses precede the
	// good response here.
	stranger := issueFor(t, nil, authority("Root"), issue(t, nil, authority("x")).key)
	wrong := root.ocsp(leaf, &identity{cert: stranger.cert, key: stranger.key}, year(1), nil)
	many := make([][]byte, 511)
	for i := range many {
		many[i] = wrong
	}
	require.Zero(t, weigh(append([][]byte{good}, many...)...), "1,532 checks")
	require.False(t, weigh(append([][]byte{good}, many[:100]...)...).Good.IsZero(), "301 checks")
}

// FuzzStatements checks that only bytes signed by the authority are accepted as a statement.
func FuzzStatements(f *testing.F) {
	root := issue(f, nil, authority("Root"))
	leaf := issue(f, root, sealing("Acme Ltd"))
	f.Add(root.crl(year(1), nil))
	f.Add(root.ocsp(leaf, root, year(1), nil))
	stranger := issueFor(f, nil, authority("Root"), issue(f, nil, authority("x")).key)
	f.Fuzz(func(t *testing.T, der []byte) {
		if trust.CombineStatements(trust.Evidence{CRLs: [][]byte{der}}, leaf.cert, stranger.cert) != (trust.RevocationStatus{}) {
			t.Error("a list that the other authority did not sign")
		}
		if trust.CombineStatements(trust.Evidence{OCSPs: [][]byte{der}}, leaf.cert, stranger.cert) != (trust.RevocationStatus{}) {
			t.Error("a response that the other authority did not sign")
		}
	})
}
