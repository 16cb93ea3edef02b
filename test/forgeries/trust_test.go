package forgeries_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
	"time"

	"countersign/seal/trust"
	"countersign/seal/verify"
)

// sealerForgeries returns seals of unauthorized sealers that are valid in every other respect.
func sealerForgeries() []forgery {
	const class = "look-alike sealers"
	// sealedBy returns a file that a third party has sealed with this software, under the same names but with other
	// keys.
	sealedBy := func(name string, want verify.Verdict, who func(h *fakeIssuer) *identity) forgery {
		return forgery{name: "sealer-" + name, class: class, want: want, shows: poppler(forgedText), make: func(g *genuine) []byte {
			h := newFakeIssuerLike(g.house)
			h.sealer = who(h)
			if i := h.sealer.issuer; i != nil {
				issuers := map[string]*identity{i.cert.SerialNumber.String(): i}
				for k, v := range h.network.issuers {
					issuers[k] = v
				}
				h.network.issuers = issuers
			}
			return h.sealAsOurs(g.level)
		}}
	}
	under := func(root func(h *fakeIssuer) *identity, change func(*x509.Certificate)) func(h *fakeIssuer) *identity {
		return func(h *fakeIssuer) *identity { return root(h).issue("Countersign", change) }
	}
	sealRoot := func(h *fakeIssuer) *identity { return h.sealRoot }
	tsaRoot := func(h *fakeIssuer) *identity { return h.tsaRoot }
	// named returns a certificate under the same root for a subject that resembles the service's subject. Only one
	// organization under that root is trusted.
	named := func(name string, subject pkix.Name) forgery {
		f := sealedBy("organisation-"+name, untrusted, under(sealRoot, func(c *x509.Certificate) {
			forSealing(c)
			c.Subject = subject
		}))
		f.trust = func(h *fakeIssuer) verify.Options { return h.trusting(trust.IssuedBy(h.sealRoot.cert, "Countersign")) }
		return f
	}
	foreign := func(*fakeIssuer) *identity { return newRoot("Sealing root") }
	usage := func(usages ...asn1.ObjectIdentifier) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtraExtensions = []pkix.Extension{extendedUsage(false, usages...)} }
	}
	return []forgery{
		sealedBy("not-yet-valid", untrusted, under(sealRoot, func(c *x509.Certificate) {
			forSealing(c)
			c.NotBefore = sealTime.AddDate(0, 0, 1)
		})),
		named("other", pkix.Name{CommonName: "Countersign", Organization: []string{"Mallory"}}),
		named("none", pkix.Name{CommonName: "Countersign"}),
		named("of-another-case", pkix.Name{CommonName: "Countersign", Organization: []string{"countersign"}}),
		named("with-blank", pkix.Name{CommonName: "Countersign", Organization: []string{"Countersign "}}),
		named("with-other-letters", pkix.Name{CommonName: "Countersign", Organization: []string{"Сountersign"}}), // the first letter is Cyrillic
		named("and-another", pkix.Name{CommonName: "Countersign", Organization: []string{"Countersign", "Mallory"}}),
		named("as-unit", pkix.Name{CommonName: "Countersign", OrganizationalUnit: []string{"Countersign"}}),
		{
			name: "sealer-revoked-by-who-pins-it", class: class, want: untrusted, shows: nothing("a key that was stolen before the document was sealed"),
			make: func(g *genuine) []byte { return newFakeIssuerLike(g.house).make(g.level, agreement()).bytes },
			trust: func(h *fakeIssuer) verify.Options {
				s := trust.PinnedCertificate(h.sealer.cert)
				s.Revoked = &trust.Revocation{At: sealTime.AddDate(0, 0, -1), Reason: "stolen"}
				return h.trusting(s)
			},
		},
		{
			name: "sealer-revoked-and-the-file-says-so", class: class, levels: []level{levelB, levelT, levelLT}, want: untrusted,
			shows: nothing("a key that was stolen before the document was sealed"),
			make: func(g *genuine) []byte {
				h := newFakeIssuerLike(g.house)
				h.network.revoked = map[string]time.Time{h.sealer.cert.SerialNumber.String(): sealTime.AddDate(0, 0, -1)}
				h.now = renewTime
				return g.restated(h.network.statusOf(h.sealRoot, h.sealRoot, h.sealer.cert.SerialNumber))
			},
		},
		{
			name: "sealer-stated-by-an-uncertified-responder", class: class, levels: []level{levelB, levelT, levelLT}, want: altered,
			shows: nothing("a favorable OCSP response from an unauthorized responder"),
			make: func(g *genuine) []byte {
				h := newFakeIssuerLike(g.house)
				h.now = renewTime
				return g.restated(h.network.statusOf(h.sealRoot, h.sealRoot.issue("Responder", nil), h.sealer.cert.SerialNumber))
			},
		},
		{
			name: "sealer-stated-about-another", class: class, levels: []level{levelB, levelT, levelLT}, want: altered,
			shows: nothing("a favorable OCSP response for another certificate"),
			make: func(g *genuine) []byte {
				h := newFakeIssuerLike(g.house)
				h.now = renewTime
				return g.restated(h.network.statusOf(h.sealRoot, h.sealRoot, h.sealRoot.issue("Mallory", forSealing).cert.SerialNumber))
			},
		},
		sealedBy("self-made", untrusted, func(*fakeIssuer) *identity { return selfSigned("Countersign") }),
		sealedBy("root-of-the-same-name", untrusted, under(foreign, forSealing)),
		sealedBy("tls-certificate-of-stamp-root", untrusted, under(tsaRoot, usage(usageServer))),
		sealedBy("sealing-certificate-of-stamp-root", untrusted, under(tsaRoot, forSealing)),
		sealedBy("tls-certificate", untrusted, under(sealRoot, usage(usageServer))),
		sealedBy("code-signing-certificate", untrusted, under(sealRoot, usage(usageCode))),
		sealedBy("stamping-certificate", untrusted, under(sealRoot, forStamping)),
		sealedBy("responder-certificate", untrusted, under(sealRoot, usage(usageOCSP))),
		sealedBy("document-and-tls-certificate", untrusted, under(sealRoot, usage(usageDocument, usageServer))),
		sealedBy("key-agreement-only", untrusted, under(sealRoot, func(c *x509.Certificate) {
			forSealing(c)
			c.KeyUsage = x509.KeyUsageKeyAgreement
		})),
		sealedBy("authority-itself", untrusted, func(h *fakeIssuer) *identity { return h.sealRoot }),
		sealedBy("authority-below", untrusted, under(sealRoot, func(c *x509.Certificate) {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		})),
		sealedBy("issued-by-a-sealer", broken, func(h *fakeIssuer) *identity { return h.sealer.issue("Countersign", forSealing) }),
		sealedBy("expired-when-sealed", untrusted, under(sealRoot, func(c *x509.Certificate) {
			forSealing(c)
			c.NotAfter = sealTime.AddDate(0, 0, -1)
		})),
		{
			name: "sealer-second-seal-over-a-genuine-one", class: class, want: broken, shows: poppler(forgedText), make: func(g *genuine) []byte {
				// The original that the forger seals is the sealed file with a forged update that hides its seal.
				b := g.bytes
				catalog := objectOf(b, objCatalog)
				for _, key := range []string{"Perms", "AcroForm", "Names", "AF", "DSS"} {
					catalog = with(catalog, key, "")
				}
				b = update(b, map[int]string{objCatalog: catalog, objContent: textStream(forgedText)})
				own := newFakeIssuer()
				return own.sealOver(b)
			},
		},
		{
			name: "sealer-trust-in-nobody", class: class, want: untrusted, shows: nothing("a genuine file, verified without any trusted sealer"),
			make:  func(g *genuine) []byte { return newFakeIssuerLike(g.house).make(g.level, agreement()).bytes },
			trust: func(*fakeIssuer) verify.Options { return verify.Options{} },
		},
		{
			name: "sealer-record-key-unknown", class: class, want: untrusted, shows: nothing("a genuine file, verified with other record keys"),
			make: func(g *genuine) []byte {
				h := newFakeIssuerLike(g.house)
				h.record = newRoot("x").key
				g = h.make(g.level, agreement())
				return g.bytes
			},
			trust: func(h *fakeIssuer) verify.Options {
				opt := h.trust()
				opt.Trust.RecordKeys = map[string]trust.RecordKey{"k2": opt.Trust.RecordKeys["k1"]}
				return opt
			},
		},
		{
			name: "sealer-record-key-another", class: class, want: broken, shows: poppler(forgedText),
			make: func(g *genuine) []byte {
				h := newFakeIssuerLike(g.house)
				h.record = newRoot("x").key
				return h.sealAsOurs(g.level)
			},
		},
	}
}

// sealAsOurs seals the forger's agreement with any certificate of the issuer. The certificate can be one with which
// the service would not start, because this function creates the signature and the increments itself.
func (h *fakeIssuer) sealAsOurs(l level) []byte {
	d := newDraft()
	d.objects[objContent] = textStream(forgedText)
	own := newFakeIssuerLike(h)
	own.sealer = h.sealRoot.issue("Countersign", withOCSP(h.sealRoot, forSealing))
	g := own.make(l, d.bytes())
	g.house = h
	return g.resealed(func(*increment) {})
}

// sealOver appends the sealing increment of a genuine file to another file, and re-signs it for that file. The
// service itself would reject that file.
func (h *fakeIssuer) sealOver(b []byte) []byte {
	own := h.make(levelB, agreement())
	inc := takeApart(own.sealed, len(own.original))
	inc.trailer = with(inc.trailer, "Prev", fmt.Sprint(lastXRef(b)))
	p := inc.find("/ByteRange")
	p.body = strings.Replace(p.body, fmt.Sprintf("/Original[0 %d]", len(own.original)), fmt.Sprintf("/Original[0 %d]", len(b)), 1)
	page := inc.number(objPage) // the file would display the honest text
	page.body = pageOf(objContent, "")
	return h.seal(inc.write(b), len(b), levelB)
}
