package trust_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
)

// TestUsage checks which certificates may be used for sealing, depending on their key usages.
func TestUsage(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	type change = func(*x509.Certificate)
	extended := func(known []x509.ExtKeyUsage, ids ...asn1.ObjectIdentifier) change {
		return func(c *x509.Certificate) { c.ExtKeyUsage, c.UnknownExtKeyUsage = known, ids }
	}
	mail := []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}
	for name, c := range map[string]struct {
		change        change
		under, pinned bool // whether the sealer is trusted through its issuer, and as a pinned certificate
	}{
		"digital signature":      {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }, true, true},
		"content commitment":     {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageContentCommitment }, true, true},
		"no usage":               {func(c *x509.Certificate) { c.KeyUsage = 0 }, false, false},
		"key encipherment":       {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }, false, false},
		"no extended usage":      {extended(nil), true, true},
		"RFC 9336":               {extended(nil, documentSigning), true, true},
		"Microsoft":              {extended(nil, microsoftSigning), true, true},
		"Adobe":                  {extended(nil, adobeSigning), true, true},
		"e-mail":                 {extended(mail), false, true},
		"e-mail and documents":   {extended(mail, adobeSigning), true, true},
		"something unknown":      {extended(nil, asn1.ObjectIdentifier{1, 2, 3}), false, false},
		"TLS client":             {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}), false, false},
		"any":                    {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageAny}), false, false},
		"TLS server":             {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}), false, false},
		"TLS server, documents":  {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, documentSigning), false, false},
		"programs, documents":    {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, documentSigning), false, false},
		"time-stamps, documents": {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}, documentSigning), false, false},
		"OCSP, documents":        {extended([]x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}, documentSigning), false, false},
		"an authority": {func(c *x509.Certificate) {
			c.IsCA, c.BasicConstraintsValid, c.UnknownExtKeyUsage = true, true, nil
			c.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl := sealing("Acme Ltd")
			c.change(tmpl)
			leaf := issue(t, root, tmpl)
			in := trust.Seal{Certificates: leaf.chain()}
			status := map[bool]trust.Status{true: trust.Trusted, false: trust.Untrusted}
			assert.Equal(t, status[c.under], evaluate(t, trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(root.cert, "")}}, in, year(1)).Sealer.Status)
			assert.Equal(t, status[c.pinned], evaluate(t, trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(leaf.cert)}}, in, year(1)).Sealer.Status)
			assert.Equal(t, status[c.pinned], evaluate(t, trust.Policy{Sealers: []trust.Sealer{trust.PinnedKey(leaf.cert.PublicKey)}}, in, year(1)).Sealer.Status)
		})
	}
}

// TestSealers_OnlyConfiguredOnesAreTrusted checks that only the configured sealer is trusted.
func TestSealers_OnlyConfiguredOnesAreTrusted(t *testing.T) {
	t.Parallel()
	root, other := issue(t, nil, authority("Root")), issue(t, nil, authority("Root")) // different authorities with the same name
	between := issue(t, root, authority("Between"))
	leaf := issue(t, between, sealing("Acme Ltd"))
	again := issueFor(t, other, sealing("Acme Ltd"), leaf.key)
	alone := issue(t, nil, sealing("Acme Ltd")) // self-signed
	mailOnly := authority("Mail")
	mailOnly.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}
	mail := issue(t, root, mailOnly)
	twoNames := sealing("Acme Ltd")
	twoNames.Subject.Organization = []string{"Acme Ltd", "Evil Corp"}
	under := func(o string) []trust.Sealer { return []trust.Sealer{trust.IssuedBy(root.cert, o)} }
	for name, c := range map[string]struct {
		sealers []trust.Sealer
		seal    *identity
		want    trust.Status
	}{
		"nobody is trusted":                    {nil, leaf, trust.Untrusted},
		"pinned":                               {[]trust.Sealer{trust.PinnedCertificate(leaf.cert)}, leaf, trust.Trusted},
		"pinned, signed by itself":             {[]trust.Sealer{trust.PinnedCertificate(alone.cert)}, alone, trust.Trusted},
		"another one is pinned":                {[]trust.Sealer{trust.PinnedCertificate(alone.cert)}, leaf, trust.Untrusted},
		"the same key, another certificate":    {[]trust.Sealer{trust.PinnedCertificate(leaf.cert)}, again, trust.Untrusted},
		"pinned key":                           {[]trust.Sealer{trust.PinnedKey(leaf.cert.PublicKey)}, leaf, trust.Trusted},
		"pinned key, another certificate":      {[]trust.Sealer{trust.PinnedKey(leaf.cert.PublicKey)}, again, trust.Trusted},
		"another key is pinned":                {[]trust.Sealer{trust.PinnedKey(alone.cert.PublicKey)}, leaf, trust.Untrusted},
		"under an authority":                   {under(""), leaf, trust.Trusted},
		"under the authority between":          {[]trust.Sealer{trust.IssuedBy(between.cert, "")}, leaf, trust.Trusted},
		"under a namesake of the authority":    {[]trust.Sealer{trust.IssuedBy(other.cert, "")}, leaf, trust.Untrusted},
		"exact organisation":                   {under("Acme Ltd"), leaf, trust.Trusted},
		"another organisation":                 {under("Acme"), leaf, trust.Untrusted},
		"look-alike: case":                     {under("Acme Ltd"), issue(t, between, sealing("ACME Ltd")), trust.Untrusted},
		"look-alike: a space at the end":       {under("Acme Ltd"), issue(t, between, sealing("Acme Ltd ")), trust.Untrusted},
		"look-alike: Cyrillic А":               {under("Acme Ltd"), issue(t, between, sealing("Аcme Ltd")), trust.Untrusted},
		"look-alike: zero width":               {under("Acme Ltd"), issue(t, between, sealing("Acme\u200b Ltd")), trust.Untrusted},
		"look-alike: longer":                   {under("Acme Ltd"), issue(t, between, sealing("Acme Ltd.")), trust.Untrusted},
		"two organisations":                    {under("Acme Ltd"), issue(t, between, twoNames), trust.Untrusted},
		"no organisation but in the name":      {under("Acme Ltd"), issue(t, between, named("Acme Ltd")), trust.Untrusted},
		"the authority between is for e-mail":  {under(""), issue(t, mail, sealing("Acme Ltd")), trust.Untrusted},
		"an authority that is none issued it":  {under(""), issue(t, issue(t, root, sealing("Acme Ltd")), sealing("Acme Ltd")), trust.Untrusted},
		"its own root, with the trusted name":  {under(""), alone, trust.Untrusted},
		"one of several who are trusted":       {[]trust.Sealer{trust.PinnedCertificate(alone.cert), trust.IssuedBy(other.cert, ""), trust.PinnedCertificate(leaf.cert)}, leaf, trust.Trusted},
		"a namesake's organisation is trusted": {[]trust.Sealer{trust.IssuedBy(other.cert, "Acme Ltd")}, leaf, trust.Untrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := evaluate(t, trust.Policy{Sealers: c.sealers}, trust.Seal{Certificates: c.seal.chain()}, year(1))
			assert.Equal(t, c.want, j.Sealer.Status, "%v", j.Sealer)
		})
	}
}

func named(commonName string) *x509.Certificate {
	c := sealing("")
	c.Subject = pkix.Name{CommonName: commonName}
	return c
}

// TestMessage_NamesTheOrganization checks that the message contains the organization, and that a malicious name is
// sanitized.
func TestMessage_NamesTheOrganization(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	j := evaluate(t, trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(root.cert, "")}}, trust.Seal{Certificates: leaf.chain()}, year(1))
	assert.Equal(t, "Acme Ltd (Document seal)", j.By)
	assert.Equal(t, "Root", j.Sealer.Issuer)
	assert.Equal(t, trust.CodeIssued, j.Sealer.Code)
	hostile := issue(t, root, sealing("Acme\x1b[2K\u202eLtd\n"))
	assert.Equal(t, "Acme\uFFFD[2K\uFFFDLtd\uFFFD (Document seal)", trust.Name(hostile.cert))
	assert.Len(t, []rune(trust.Printable(string(make([]byte, 1000)))), 500)
}

// TestSealers_ThatCannotMatch_AreRejected checks that sealers that can never match are rejected when they are
// configured.
func TestSealers_ThatCannotMatch_AreRejected(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	leaf := issue(t, root, sealing("Acme Ltd"))
	tls := sealing("Acme Ltd")
	tls.ExtKeyUsage, tls.UnknownExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, nil
	require.NoError(t, trust.IssuedBy(root.cert, "Acme Ltd").Check())
	require.NoError(t, trust.PinnedCertificate(leaf.cert).Check())
	require.NoError(t, trust.PinnedKey(leaf.cert.PublicKey).Check())
	require.ErrorContains(t, trust.IssuedBy(leaf.cert, "").Check(), "does not belong to an authority")
	require.ErrorContains(t, trust.PinnedCertificate(root.cert).Check(), "authority")
	require.ErrorContains(t, trust.PinnedCertificate(issue(t, root, tls).cert).Check(), "TLS server authentication")
	require.Error(t, trust.Sealer{}.Check())
}

// TestExpiry checks that, without a proven time, the certificate must be valid at the current time.
func TestExpiry(t *testing.T) {
	t.Parallel()
	root := issue(t, nil, authority("Root"))
	tmpl := sealing("Acme Ltd")
	tmpl.NotBefore, tmpl.NotAfter = year(1), year(3)
	leaf := issue(t, root, tmpl)
	for _, s := range []trust.Sealer{trust.PinnedCertificate(leaf.cert), trust.PinnedKey(leaf.cert.PublicKey), trust.IssuedBy(root.cert, "")} {
		for at, want := range map[float64]trust.Status{0.5: trust.Untrusted, 2: trust.Trusted, 4: trust.Untrusted} {
			j := evaluate(t, trust.Policy{Sealers: []trust.Sealer{s}}, trust.Seal{Certificates: leaf.chain()}, year(at))
			assert.Equal(t, want, j.Sealer.Status, "year %v: %v", at, j.Sealer)
		}
	}
}

// TestRevokedHere checks that revocations recorded by the installation apply, unless a time-stamp proves that the seal
// is older.
func TestRevokedHere(t *testing.T) {
	t.Parallel()
	root, tsaRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	leaf, tsa := issue(t, root, sealing("Acme Ltd")), issue(t, tsaRoot, stamping())
	again := issueFor(t, root, sealing("Acme Ltd"), leaf.key)
	revoked := trust.PinnedCertificate(leaf.cert)
	revoked.Revoked = &trust.Revocation{At: year(3), Reason: "the key was stolen"}
	stamp := func(at float64) []trust.Stamp { return []trust.Stamp{{Certificates: tsa.chain(), Time: year(at)}} }
	for name, c := range map[string]struct {
		leaf   *identity
		stamps []trust.Stamp
		want   trust.Status
	}{
		"no time-stamp":                        {leaf, nil, trust.Untrusted},
		"sealed before":                        {leaf, stamp(2), trust.Trusted},
		"sealed after":                         {leaf, stamp(4), trust.Untrusted},
		"sealed at that moment":                {leaf, stamp(3), trust.Untrusted},
		"the same key with a new certificate":  {again, nil, trust.Untrusted},
		"a new certificate, but sealed before": {again, stamp(2), trust.Trusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(root.cert, ""), revoked}, Stampers: pool(tsaRoot)}
			j := evaluate(t, p, trust.Seal{Certificates: c.leaf.chain(), Stamps: c.stamps}, year(5))
			assert.Equal(t, c.want, j.Sealer.Status, "%v", j.Sealer)
			if c.want == trust.Untrusted {
				assert.Equal(t, trust.CodeRevokedHere, j.Sealer.Code)
				assert.Equal(t, "the key was stolen", j.Sealer.Reason)
			}
		})
	}
}

// TestRecordKeys checks which keys are trusted to sign the record.
func TestRecordKeys(t *testing.T) {
	t.Parallel()
	root, tsaRoot := issue(t, nil, authority("Root")), issue(t, nil, authority("Time root"))
	leaf, tsa := issue(t, root, sealing("Acme Ltd")), issue(t, tsaRoot, stamping())
	key, stranger := issue(t, nil, sealing("k")).cert.PublicKey, issue(t, nil, sealing("k")).cert.PublicKey
	gone := &trust.Revocation{At: year(3), Reason: "lost"}
	for name, c := range map[string]struct {
		known   map[string]trust.RecordKey
		sealers []trust.Sealer
		stamp   float64 // year of the time-stamp; 0 for none
		want    trust.Status
	}{
		"none is named, the seal is trusted":     {nil, []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, 0, trust.Trusted},
		"none is named, the seal is not trusted": {nil, nil, 0, trust.Untrusted},
		"known":                                  {map[string]trust.RecordKey{"k1": {Key: key}}, nil, 0, trust.Trusted},
		"not known":                              {map[string]trust.RecordKey{"k2": {Key: key}}, []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, 0, trust.Untrusted},
		"no key is known":                        {map[string]trust.RecordKey{}, []trust.Sealer{trust.PinnedCertificate(leaf.cert)}, 0, trust.Untrusted},
		"known with another key":                 {map[string]trust.RecordKey{"k1": {Key: stranger}}, nil, 0, trust.Contradictory},
		"revoked":                                {map[string]trust.RecordKey{"k1": {Key: key, Revoked: gone}}, nil, 0, trust.Untrusted},
		"revoked, the seal was before":           {map[string]trust.RecordKey{"k1": {Key: key, Revoked: gone}}, nil, 2, trust.Trusted},
		"revoked before the seal was":            {map[string]trust.RecordKey{"k1": {Key: key, Revoked: gone}}, nil, 4, trust.Untrusted},
		"revoked at the proven moment ":          {map[string]trust.RecordKey{"k1": {Key: key, Revoked: gone}}, nil, 3, trust.Untrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trust.Seal{Certificates: leaf.chain(), RecordKeyID: "k1", RecordKey: key}
			if c.stamp > 0 {
				in.Stamps = []trust.Stamp{{Certificates: tsa.chain(), Time: year(c.stamp)}}
			}
			j := evaluate(t, trust.Policy{Sealers: c.sealers, RecordKeys: c.known, Stampers: pool(tsaRoot)}, in, year(5))
			assert.Equal(t, c.want, j.RecordKey.Status, "%v", j.RecordKey)
		})
	}
}

// TestNoCertificate checks that a seal without a certificate has no sealer.
func TestNoCertificate(t *testing.T) {
	t.Parallel()
	require.Equal(t, trust.Untrusted, evaluate(t, trust.Policy{}, trust.Seal{}, time.Now()).Sealer.Status)
}
