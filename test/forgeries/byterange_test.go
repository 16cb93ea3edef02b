package forgeries_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"time"
)

func deltaIndicator() pkix.Extension {
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: must(asn1.Marshal(big.NewInt(1)))}
}

// holesOfSeal returns forgeries that change the seal's own signature value, which the seal cannot cover.
func holesOfSeal() []forgery {
	const class = "holes of the seal"
	edit := func(name string, shows effect, change func(g *genuine, cms *element)) forgery {
		return forgery{name: "hole-" + name, class: class, want: broken, shows: shows, make: func(g *genuine) []byte {
			h := holes(g.bytes, len(g.original))[0]
			e := parseDER(h.value(g.bytes))
			change(g, e)
			return h.put(g.bytes, e.encode())
		}}
	}
	text := func(name string, shows effect, change func(b []byte, h hole)) forgery {
		return forgery{name: "hole-" + name, class: class, want: broken, shows: shows, make: func(g *genuine) []byte {
			b := bytes.Clone(g.bytes)
			change(b, holes(b, len(g.original))[0])
			return b
		}}
	}
	// again re-signs the same bytes, which only the service could do.
	again := func(name string, change func(g *genuine, s *signature)) forgery {
		return forgery{name: "hole-" + name, class: class, levels: []level{levelB, levelT}, want: broken, shows: openssl(0), make: func(g *genuine) []byte {
			h := holes(g.bytes, len(g.original))[0]
			digest := h.digest(g.bytes)
			s := &signature{contentType: oidData, digest: digest[:], signer: g.house.sealer}
			for _, c := range g.house.sealer.chain() {
				s.certificates = append(s.certificates, c.Raw)
			}
			change(g, s)
			return h.put(g.bytes, s.encode())
		}}
	}
	return []forgery{
		edit("certificates-permuted", openssl(0), func(_ *genuine, e *element) { slices.Reverse(e.certificates().kids) }),
		edit("certificate-foreign", openssl(0), func(_ *genuine, e *element) {
			c := e.certificates()
			c.kids = append(c.kids, raw(newRoot("Mallory").cert.Raw))
		}),
		edit("certificate-twice", openssl(0), func(_ *genuine, e *element) {
			c := e.certificates()
			c.kids = append(c.kids, c.kids[0])
		}),
		edit("certificate-of-issuer-stripped", openssl(0), func(_ *genuine, e *element) {
			c := e.certificates()
			own := c.kids[0]
			for _, k := range c.kids {
				if bytes.Contains(k.encode(), []byte("Countersign")) {
					own = k
				}
			}
			c.kids = []*element{own}
		}),
		edit("revocation-list-added", openssl(0), func(g *genuine, e *element) {
			d := e.signedData()
			d.kids = slices.Insert(d.kids, 4, &element{tag: tagRevocations, kids: []*element{raw(g.house.network.list(g.house.sealRoot))}})
		}),
		edit("unsigned-attribute", openssl(0), func(_ *genuine, e *element) {
			u := e.unsigned()
			u.kids = append(u.kids, raw(attribute(oid(1, 2, 3, 4, 5), octets([]byte(forgedText)))))
		}),
		edit("second-token", openssl(0), func(g *genuine, e *element) {
			u := e.unsigned()
			digest := sha256.Sum256(e.signerInfo().kids[5].body)
			for range 2 {
				u.kids = append(u.kids, raw(attribute(oidTimeStamp, g.house.network.newToken(digest[:]).encode())))
			}
		}),
		edit("two-tokens-in-one-attribute", openssl(0), func(g *genuine, e *element) {
			digest := sha256.Sum256(e.signerInfo().kids[5].body)
			token := g.house.network.newToken(digest[:]).encode()
			e.unsigned().kids = []*element{raw(attribute(oidTimeStamp, token, token))}
		}),
		edit("token-of-another-signature", openssl(0), func(g *genuine, e *element) {
			digest := sha256.Sum256([]byte("another"))
			e.unsigned().kids = []*element{raw(attribute(oidTimeStamp, g.house.network.newToken(digest[:]).encode()))}
		}),
		edit("token-with-attribute", openssl(0), func(g *genuine, e *element) {
			digest := sha256.Sum256(e.signerInfo().kids[5].body)
			t := g.house.network.newToken(digest[:])
			t.unsigned = [][]byte{attribute(oid(1, 2, 3, 4, 5), octets([]byte(forgedText)))}
			e.unsigned().kids = []*element{raw(attribute(oidTimeStamp, t.encode()))}
		}),
		edit("token-with-foreign-certificate", openssl(0), func(g *genuine, e *element) {
			digest := sha256.Sum256(e.signerInfo().kids[5].body)
			t := g.house.network.newToken(digest[:])
			t.certificates = append(t.certificates, newRoot("Mallory").cert.Raw)
			e.unsigned().kids = []*element{raw(attribute(oidTimeStamp, t.encode()))}
		}),
		edit("high-s", openssl(0), func(_ *genuine, e *element) {
			v := e.signerInfo().kids[5]
			v.body = highS(v.body)
		}),
		edit("digest-algorithm-with-parameters", openssl(0), func(_ *genuine, e *element) {
			a := e.signedData().kids[1].kids[0]
			if len(a.kids) == 1 {
				a.kids = append(a.kids, &element{tag: tagNull})
			} else {
				a.kids = a.kids[:1]
			}
		}),
		edit("content-attached", nothing("for programs that read attached content, the signature no longer covers the file"), func(_ *genuine, e *element) {
			c := e.signedData().kids[2]
			c.kids = append(c.kids, raw(tlv(0xa0, octets([]byte(forgedText)))))
		}),
		edit("second-signer", nothing("programs find two signers in one signature"), func(_ *genuine, e *element) {
			d := e.signedData()
			last := d.kids[len(d.kids)-1]
			last.kids = append(last.kids, last.kids[0])
		}),
		edit("version", nothing("programs that check the version reject the signature"), func(_ *genuine, e *element) {
			e.signedData().kids[0].body = []byte{4}
		}),
		{
			name: "hole-token-stripped", class: class, levels: []level{levelT, levelLT, levelLTA}, want: broken, shows: nothing("the proof of the time is missing"),
			make: func(g *genuine) []byte {
				h := holes(g.bytes, len(g.original))[0]
				e := parseDER(h.value(g.bytes))
				info := e.signerInfo()
				info.kids = info.kids[:6]
				return h.put(g.bytes, e.encode())
			},
		},
		{
			name: "hole-token-added", class: class, levels: []level{levelB}, want: broken, shows: openssl(0), make: func(g *genuine) []byte {
				h := holes(g.bytes, len(g.original))[0]
				e := parseDER(h.value(g.bytes))
				digest := sha256.Sum256(e.signerInfo().kids[5].body)
				e.unsigned().kids = append(e.unsigned().kids, raw(attribute(oidTimeStamp, g.house.network.newToken(digest[:]).encode())))
				return h.put(g.bytes, e.encode())
			},
		},
		text("non-zero-padding", openssl(0), func(b []byte, h hole) { b[h.to-2] = '1' }),
		text("text-in-padding", nothing("hundreds of bytes that no signature covers"), func(b []byte, h hole) {
			hex.Encode(b[h.to-2*len(forgedText)-1:], []byte(forgedText))
		}),
		text("upper-case", openssl(0), func(b []byte, h hole) { copy(b[h.from:h.to], bytes.ToUpper(b[h.from:h.to])) }),
		text("white-space", nothing("the digits of the seal's signature, shifted by a space"), func(b []byte, h hole) {
			copy(b[h.from+2:h.to-1], append([]byte(" "), b[h.from+1:h.to-3]...))
		}),
		text("object-in-padding", nothing("an object that programs find if they rebuild their table"), func(b []byte, h hole) {
			s := ">>>\nendobj\n5 0 obj\n" + textStream(forgedText) + "\nendobj\n1 0 obj\n<<"
			copy(b[h.to-len(s)-1:], s)
		}),
		{
			name: "hole-indefinite-length", class: class, want: broken, shows: openssl(0), make: func(g *genuine) []byte {
				h := holes(g.bytes, len(g.original))[0]
				return h.put(g.bytes, parseDER(h.value(g.bytes)).indefinite(3))
			},
		},
		{
			name: "hole-bytes-behind", class: class, want: broken, shows: nothing("bytes that no signature covers"), make: func(g *genuine) []byte {
				h := holes(g.bytes, len(g.original))[0]
				return h.put(g.bytes, append(h.value(g.bytes), octets([]byte(forgedText))...))
			},
		},
		{
			name: "hole-of-another-file", class: class, want: broken, shows: nothing("a valid signature of another file"), make: func(g *genuine) []byte {
				other := newFakeIssuerLike(g.house).make(g.level, newDraft().bytes())
				theirs := holes(other.bytes, len(other.original))[0]
				return holes(g.bytes, len(g.original))[0].put(g.bytes, theirs.value(other.bytes))
			},
		},
		again("signing-time", func(_ *genuine, s *signature) {
			s.signed = append(s.signed, attribute(oidSigningTime, tlv(0x17, []byte("260302100000Z"))))
		}),
		again("further-signed-attribute", func(_ *genuine, s *signature) {
			s.signed = append(s.signed, attribute(oid(1, 2, 3, 4, 5), octets([]byte(forgedText))))
		}),
		again("certificate-named-wrongly", func(g *genuine, s *signature) { s.named = g.house.sealRoot.cert }),
		again("content-type", func(_ *genuine, s *signature) { s.contentType = oidTSTInfo }),
		{
			name: "hole-signed-by-nobody", class: class, want: broken, shows: poppler(forgedInside), make: func(g *genuine) []byte {
				// Mallory signs with the service's certificate and a different key.
				b := replaceSame(g.bytes, honestAmount, forgedAmount)
				h := holes(b, len(g.original))[0]
				digest := h.digest(b)
				mallory := &identity{cert: g.house.sealer.cert, key: newRoot("Mallory").key, issuer: g.house.sealer.issuer}
				s := &signature{contentType: oidData, digest: digest[:], signer: mallory}
				for _, c := range mallory.chain() {
					s.certificates = append(s.certificates, c.Raw)
				}
				return h.put(b, s.encode())
			},
		},
	}
}

// newFakeIssuerLike returns a copy of the issuer with an independent clock.
func newFakeIssuerLike(h *fakeIssuer) *fakeIssuer {
	n := *h
	network := *h.network
	n.network = &network
	n.network.clock = func() time.Time { return n.now }
	return &n
}

// holesOfStamps returns forgeries that change the signature value of the time-stamp over the file. Like a seal, a
// time-stamp cannot cover its own signature value.
func holesOfStamps() []forgery {
	const class = "holes of time-stamps"
	edit := func(name string, change func(g *genuine, cms *element)) forgery {
		return forgery{name: "stamp-" + name, class: class, levels: archived, want: altered, shows: opensslToken(), make: func(g *genuine) []byte {
			list := holes(g.bytes, len(g.original))
			h := list[len(list)-1]
			e := parseDER(h.value(g.bytes))
			change(g, e)
			return h.put(g.bytes, e.encode())
		}}
	}
	again := func(name string, change func(g *genuine, t *token)) forgery {
		return forgery{name: "stamp-" + name, class: class, want: altered, shows: nothing("a different token for the same bytes"), make: func(g *genuine) []byte {
			return g.rearchived(func(*increment) {}, func(t *token) { change(g, t) })
		}}
	}
	return []forgery{
		edit("certificates-permuted", func(_ *genuine, e *element) { slices.Reverse(e.certificates().kids) }),
		edit("certificate-foreign", func(_ *genuine, e *element) {
			c := e.certificates()
			c.kids = append(c.kids, raw(newRoot("Mallory").cert.Raw))
		}),
		edit("unsigned-attribute", func(_ *genuine, e *element) {
			e.unsigned().kids = append(e.unsigned().kids, raw(attribute(oid(1, 2, 3, 4, 5), octets([]byte(forgedText)))))
		}),
		edit("high-s", func(_ *genuine, e *element) {
			v := e.signerInfo().kids[5]
			v.body = highS(v.body)
		}),
		edit("certificate-of-issuer-stripped", func(_ *genuine, e *element) {
			c := e.certificates()
			c.kids = c.kids[:1]
		}),
		edit("certificate-of-issuer-changed", func(_ *genuine, e *element) {
			// Change the token's copy of the root, which verification does not need.
			root := e.certificates().kids[1].kids[0]
			root.kids[1].body = []byte{9}
		}),
		edit("nested-token", func(g *genuine, e *element) {
			digest := sha256.Sum256(e.signerInfo().kids[5].body)
			e.unsigned().kids = append(e.unsigned().kids, raw(attribute(oidTimeStamp, g.house.network.newToken(digest[:]).encode())))
		}),
		{
			name: "stamp-padding", class: class, levels: archived, want: altered, shows: opensslToken(), make: func(g *genuine) []byte {
				list := holes(g.bytes, len(g.original))
				b := bytes.Clone(g.bytes)
				b[list[len(list)-1].to-2] = '1'
				return b
			},
		},
		{
			name: "stamp-indefinite-length", class: class, levels: archived, want: altered, shows: opensslToken(), make: func(g *genuine) []byte {
				list := holes(g.bytes, len(g.original))
				h := list[len(list)-1]
				return h.put(g.bytes, parseDER(h.value(g.bytes)).indefinite(3))
			},
		},
		{
			name: "stamp-removed", class: class, levels: archived, want: altered, shows: nothing("the proof of the time is missing"), make: func(g *genuine) []byte {
				list := holes(g.bytes, len(g.original))
				h := list[len(list)-1]
				b := bytes.Clone(g.bytes)
				copy(b[h.from+1:h.to-1], strings.Repeat("0", h.to-h.from-2))
				return b
			},
		},
		{
			name: "stamp-of-an-earlier-revision", class: class, levels: []level{levelLTA}, want: altered, shows: nothing("a token of the same authority for other bytes"),
			make: func(g *genuine) []byte {
				list := holes(g.bytes, len(g.original))
				return list[2].put(g.bytes, list[1].value(g.bytes))
			},
		},
		{
			name: "stamp-middle-increment-cut-out", class: class, levels: []level{levelLTA}, want: altered, shows: nothing("the first proof of the time is missing"),
			make: func(g *genuine) []byte {
				later := g.later()
				return slices.Concat(g.bytes[:later[0].from], g.bytes[later[1].from:])
			},
		},
		{
			name: "stamp-increments-swapped", class: class, levels: []level{levelLTA}, want: altered, shows: nothing("the proofs of the time are in a different order"),
			make: func(g *genuine) []byte {
				later := g.later()
				return slices.Concat(g.sealed, g.bytes[later[1].from:], g.bytes[later[0].from:later[0].to])
			},
		},
		again("imprint-of-other-bytes", func(_ *genuine, t *token) {
			sum := sha256.Sum256([]byte("other"))
			t.imprint = sum[:]
		}),
		again("signed-by-another-key", func(_ *genuine, t *token) {
			t.signer = &identity{cert: t.signer.cert, key: must(ecdsa.GenerateKey(t.signer.key.Curve, rand.Reader)), issuer: t.signer.issuer}
		}),
		again("certificate-named-wrongly", func(g *genuine, t *token) { t.named = g.house.tsaRoot.cert }),
	}
}
