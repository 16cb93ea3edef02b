package forgeries_test

import (
	"crypto/x509"
	"crypto/x509/pkix"

	"countersign/seal/verify"
)

// timestampForgeries returns time-stamps that are issued by unauthorized authorities or state impossible times.
func timestampForgeries() []forgery {
	const class = "look-alike time-stamp authorities"
	by := func(name string, want verify.Verdict, who func(h *fakeIssuer) *identity) forgery {
		return forgery{name: "stamper-" + name, class: class, want: want, shows: nothing("a time that no trusted authority confirms"), make: func(g *genuine) []byte {
			signer := who(g.house)
			return g.rearchived(func(*increment) {}, func(t *token) {
				t.signer, t.certificates = signer, nil
				for _, c := range t.signer.chain() {
					t.certificates = append(t.certificates, c.Raw)
				}
			})
		}}
	}
	under := func(root func(h *fakeIssuer) *identity, change func(*x509.Certificate)) func(h *fakeIssuer) *identity {
		return func(h *fakeIssuer) *identity { return root(h).issue("Time-stamp authority", change) }
	}
	tsaRoot := func(h *fakeIssuer) *identity { return h.tsaRoot }
	sealRoot := func(h *fakeIssuer) *identity { return h.sealRoot }
	foreign := func(*fakeIssuer) *identity { return newRoot("Time-stamp root") }
	return []forgery{
		by("root-of-the-same-name", untrusted, under(foreign, forStamping)),
		by("self-made", untrusted, func(*fakeIssuer) *identity { return selfSigned("Time-stamp authority") }),
		by("under-the-sealing-root", untrusted, under(sealRoot, forStamping)),
		by("usage-not-critical", untrusted, under(tsaRoot, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{extendedUsage(false, usageStamping)}
		})),
		by("usage-not-sole", untrusted, under(tsaRoot, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{extendedUsage(true, usageStamping, usageCode)}
		})),
		by("without-usage", untrusted, under(tsaRoot, nil)),
		by("sealing-certificate", untrusted, under(tsaRoot, forSealing)),
		by("sealer-itself", untrusted, func(h *fakeIssuer) *identity { return h.sealer }),
		by("expired-when-stamped", untrusted, under(tsaRoot, func(c *x509.Certificate) {
			forStamping(c)
			c.NotAfter = sealTime.AddDate(0, 0, -1)
		})),
		by("not-yet-valid", untrusted, under(tsaRoot, func(c *x509.Certificate) {
			forStamping(c)
			c.NotBefore = secondTime.AddDate(0, 0, 1)
		})),
		{
			name: "stamper-time-before-sealing", class: class, want: untrusted, shows: nothing("a time-stamp that is earlier than the preceding one"), make: func(g *genuine) []byte {
				return g.rearchived(func(*increment) {}, func(t *token) { t.time = sealTime.AddDate(0, 0, -2) })
			},
		},
		{
			name: "stamper-time-in-the-future", class: class, want: untrusted, shows: nothing("a time in the future"), make: func(g *genuine) []byte {
				return g.rearchived(func(*increment) {}, func(t *token) { t.time = judgeTime.AddDate(0, 1, 0) })
			},
		},
	}
}
