package cms_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/cms"
)

var (
	idData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	idTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	idContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	idMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	idSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	idSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	idSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	idTimeStamp     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	idSHA512        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}
	idRSAPSS        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
)

// forger signs arbitrary content. Its signatures are valid, but the signed content differs from what Sign produces.
type forger struct {
	key   crypto.Signer
	chain []*x509.Certificate
	root  *element
}

func forge(t *testing.T, key crypto.Signer, chain ...*x509.Certificate) *forger {
	t.Helper()
	s, err := cms.NewSigner(key, chain, rand.Reader)
	require.NoError(t, err)
	der, err := s.Sign(context.Background(), contentDigest, nil)
	require.NoError(t, err)
	return &forger{key, chain, readElements(t, der)[0]}
}

var contentDigest = sha256.Sum256([]byte("content"))

func value(t *testing.T, v any) *element {
	t.Helper()
	der, err := asn1.Marshal(v)
	require.NoError(t, err)
	return readElements(t, der)[0]
}

func (f *forger) signer() *element { return find(f.root, 1, 0, 4, 0) }

// attributes returns the signed attributes, which are content type, digest and certificate, in DER order.
func (f *forger) attributes() *element { return f.signer().children[3] }

func (f *forger) set(t *testing.T, kind asn1.ObjectIdentifier, v any) *forger {
	t.Helper()
	f.drop(t, kind)
	f.attributes().children = append(f.attributes().children, attribute(t, kind, value(t, v)))
	return f
}

func (f *forger) drop(t *testing.T, kind asn1.ObjectIdentifier) *forger {
	t.Helper()
	f.attributes().children = slices.DeleteFunc(f.attributes().children, func(e *element) bool {
		return bytes.Equal(e.children[0].write(t), value(t, kind).write(t))
	})
	return f
}

// carry sets the content type and content of the message.
func (f *forger) carry(t *testing.T, kind asn1.ObjectIdentifier, content []byte) *forger {
	t.Helper()
	encap := find(f.root, 1, 0, 2)
	encap.children = []*element{value(t, kind)}
	if content != nil {
		encap.children = append(encap.children, &element{
			head:     asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true},
			children: []*element{value(t, content)},
		})
		sum := sha256.Sum256(content)
		f.set(t, idMessageDigest, sum[:])
	}
	if !kind.Equal(idData) {
		find(f.root, 1, 0).children[0] = value(t, 3)
	}
	return f.set(t, idContentType, kind)
}

func (f *forger) sign(t *testing.T) []byte {
	t.Helper()
	var encoded [][]byte
	slices.SortFunc(f.attributes().children, func(a, b *element) int { return bytes.Compare(a.write(t), b.write(t)) })
	for _, a := range f.attributes().children {
		encoded = append(encoded, a.write(t))
	}
	set, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: bytes.Join(encoded, nil)})
	require.NoError(t, err)
	sum := sha256.Sum256(set)
	for {
		signature, err := f.key.Sign(rand.Reader, sum[:], crypto.SHA256)
		require.NoError(t, err)
		var sig struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(signature, &sig); err == nil && sig.S.Cmp(new(big.Int).Rsh(elliptic.P256().Params().N, 1)) > 0 {
			continue // only the smaller of the two valid values is accepted
		}
		f.signer().children[5] = value(t, signature)
		return f.root.write(t)
	}
}

func signingCert(sum []byte) any {
	type id struct{ Hash []byte }
	return struct{ Certs []id }{[]id{{sum}}}
}

// TestSign_SignedAttributes checks that only a detached signature with exactly the PAdES attributes counts as PAdES.
func TestSign_SignedAttributes(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, c := issueKey(t, ca)
	forged := func() *forger { return forge(t, key, c, ca.cert) }
	read := func(der []byte) *cms.Signed {
		s, err := cms.Parse(der)
		require.NoError(t, err)
		return s
	}
	own := read(forged().sign(t))
	require.True(t, own.IsPAdES())
	require.NoError(t, own.Verify(contentDigest[:]))
	unsorted := forged()
	unsorted.sign(t)
	slices.Reverse(unsorted.attributes().children)
	require.NoError(t, read(unsorted.root.write(t)).Verify(contentDigest[:]), "the signature covers the attributes in DER order")
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, f := range map[string]*forger{
		"one more":                  forged().set(t, idSigningTime, at),
		"a time for a certificate":  forged().set(t, idSigningTime, at).drop(t, idSigningCertV2),
		"a time for a digest":       forged().set(t, idSigningTime, at).drop(t, idMessageDigest),
		"another kind of content":   forged().carry(t, idTSTInfo, nil),
		"content that it carries":   forged().carry(t, idData, []byte("content")),
		"no certificate":            forged().drop(t, idSigningCertV2),
		"the older kind of the two": forged().set(t, idSigningCert, signingCert(sum1(c.Raw))).drop(t, idSigningCertV2),
	} {
		require.False(t, read(f.sign(t)).IsPAdES(), name)
	}
	_, err := cms.Parse(forged().set(t, idContentType, idTSTInfo).sign(t))
	require.ErrorContains(t, err, "the signed content type differs")
	_, err = cms.Parse(forged().drop(t, idContentType).sign(t))
	require.ErrorContains(t, err, "the signed content type differs")

	s := read(forged().set(t, idMessageDigest, []byte{}).sign(t))
	require.ErrorIs(t, s.Verify(nil), cms.ErrDigest, "an empty digest must never match")
	require.ErrorIs(t, s.Verify([]byte{}), cms.ErrDigest)
}

func sum1(b []byte) []byte {
	sum := sha1.Sum(b)
	return sum[:]
}

func sum2(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

func issueKey(t *testing.T, ca *authority) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key, ca.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(77), Subject: pkix.Name{CommonName: "Signer"}, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature,
	}, ca.cert, key.Public())
}

// TestSignature_NamesItsCertificate checks that the signing-certificate attribute must identify the signer's
// certificate, and that signing-certificate-v2 takes precedence if both attributes are present.
func TestSignature_NamesItsCertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, c := issueKey(t, ca)
	verify := func(f *forger) error {
		s, err := cms.Parse(f.sign(t))
		require.NoError(t, err)
		return s.Verify(contentDigest[:])
	}
	wrong := signingCert([]byte("another certificate's"))
	forged := func() *forger { return forge(t, key, c, ca.cert).drop(t, idSigningCertV2) }
	require.NoError(t, verify(forged().set(t, idSigningCertV2, signingCert(sum2(c.Raw)))))
	require.NoError(t, verify(forged().set(t, idSigningCert, signingCert(sum1(c.Raw)))), "older authorities identify certificates only by SHA-1")
	require.NoError(t, verify(forged().set(t, idSigningCert, wrong).set(t, idSigningCertV2, signingCert(sum2(c.Raw)))))
	require.ErrorIs(t, verify(forged().set(t, idSigningCert, signingCert(sum1(c.Raw))).set(t, idSigningCertV2, wrong)), cms.ErrCertID)
	require.ErrorIs(t, verify(forged().set(t, idSigningCert, wrong)), cms.ErrCertID)
	require.ErrorIs(t, verify(forged()), cms.ErrCertID)
	// The older attribute is longer here and therefore sorted after the newer one, which still takes precedence.
	long := struct{ Certs []struct{ Hash []byte } }{Certs: []struct{ Hash []byte }{{[]byte("another certificate's")}, {make([]byte, 64)}}}
	require.NoError(t, verify(forged().set(t, idSigningCert, long).set(t, idSigningCertV2, signingCert(sum2(c.Raw)))))
	for name, v := range map[string]any{"no certificate": struct{ Certs []asn1.RawValue }{}, "a number": 7} {
		_, err := cms.Parse(forged().set(t, idSigningCertV2, v).sign(t))
		require.ErrorIs(t, err, cms.ErrStructure, name)
	}
}

// TestKeysOfSignatures checks that only signatures by RSA keys of 2,048 to 8,192 bits, and by keys on supported curves,
// are accepted.
func TestKeysOfSignatures(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	issue := func(pub crypto.PublicKey) *x509.Certificate {
		return ca.sign(t, &x509.Certificate{SerialNumber: big.NewInt(5), NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter}, ca.cert, pub)
	}
	forged := func(pub crypto.PublicKey) *forger {
		f := forge(t, key, issue(key.Public()), ca.cert)
		c := issue(pub)
		find(f.root, 1, 0, 3).children[0] = readElements(t, c.Raw)[0]
		return f.set(t, idSigningCertV2, signingCert(sum2(c.Raw)))
	}
	verify := func(der []byte) error {
		s, err := cms.Parse(der)
		require.NoError(t, err)
		return s.Verify(contentDigest[:])
	}
	der := forged(key.Public()).sign(t)
	require.NoError(t, verify(der))
	_, err = cms.ParseStrict(der)
	require.NoError(t, err)
	der[len(der)-1] ^= 1
	require.ErrorIs(t, verify(der), cms.ErrSignature)
	for bits, says := range map[uint]string{1024: "RSA key of 1024 bits", 2047: "RSA key of 2047 bits", 8192: ""} {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		err := verify(forged(&rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}).sign(t))
		require.ErrorIs(t, err, cms.ErrSignature)
		require.ErrorContains(t, err, says)
		require.Equal(t, says != "", err.Error() != cms.ErrSignature.Error(), "%d bits: %v", bits, err)
	}
	// No certificate may contain a larger key, because signatures by an authority's key also take long to verify.
	n := new(big.Int).Lsh(big.NewInt(1), 60_000)
	_, err = cms.Parse(forged(&rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}).sign(t))
	require.ErrorContains(t, err, "RSA key of 60001 bits")
	f := forge(t, key, issue(key.Public()), ca.cert)
	find(f.root, 1, 0, 3).children[1] = readElements(t, issue(&rsa.PublicKey{N: n, E: 65537}).Raw)[0]
	_, err = cms.Parse(f.sign(t))
	require.ErrorContains(t, err, "RSA key of 60001 bits")
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	require.ErrorContains(t, verify(forged(edwards).sign(t)), "key of type")
	pss := forged(key.Public())
	pss.signer().children[4] = value(t, pkix.AlgorithmIdentifier{Algorithm: idRSAPSS})
	_, err = cms.Parse(pss.sign(t))
	require.ErrorContains(t, err, "RSASSA-PSS is not supported")
	unknown := forged(key.Public())
	unknown.signer().children[2] = value(t, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}})
	_, err = cms.Parse(unknown.sign(t))
	require.ErrorContains(t, err, "digest algorithm 1.3.14.3.2.26")
}

// imprint returns a TSTInfo over a digest.
func imprint(t *testing.T, algorithm asn1.ObjectIdentifier, digest []byte) []byte {
	t.Helper()
	der, err := asn1.Marshal(struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint struct {
			Algorithm pkix.AlgorithmIdentifier
			Digest    []byte
		}
		Serial int
		Time   time.Time `asn1:"generalized"`
	}{1, asn1.ObjectIdentifier{1, 2, 3}, struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}{pkix.AlgorithmIdentifier{Algorithm: algorithm}, digest}, 1, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	return der
}

// TestParseToken_OtherMessages_AreRejected checks which messages are accepted as time-stamps, and which of these are
// accepted in a seal.
func TestParseToken_OtherMessages_AreRejected(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, c := issueKey(t, ca)
	forged := func(kind asn1.ObjectIdentifier, content []byte) *forger {
		return forge(t, key, c, ca.cert).carry(t, kind, content)
	}
	idSHA256 := asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	good := imprint(t, idSHA256, contentDigest[:])
	token, err := cms.ParseTokenStrict(forged(idTSTInfo, good).sign(t))
	require.NoError(t, err)
	require.NoError(t, token.Verify(contentDigest[:]))
	require.Equal(t, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), token.Time)
	stamped, err := token.StampedDigest([]byte("signature"))
	require.NoError(t, err)
	require.Equal(t, sum2([]byte("signature")), stamped)

	sum := sha512.Sum512([]byte("signature"))
	der := forged(idTSTInfo, imprint(t, idSHA512, sum[:])).sign(t)
	token, err = cms.ParseToken(der)
	require.NoError(t, err)
	require.NoError(t, token.Verify(sum[:]))
	stamped, err = token.StampedDigest([]byte("signature"))
	require.NoError(t, err)
	require.Equal(t, sum[:], stamped)
	_, err = cms.ParseTokenStrict(der)
	require.ErrorContains(t, err, "does not cover a SHA-256 digest")
	der = forged(idTSTInfo, imprint(t, asn1.ObjectIdentifier{1, 2, 3}, sum[:])).sign(t)
	token, err = cms.ParseToken(der)
	require.NoError(t, err)
	_, err = token.StampedDigest(nil)
	require.ErrorIs(t, err, cms.ErrStructure)
	_, err = cms.ParseTokenStrict(der)
	require.ErrorIs(t, err, cms.ErrStructure)

	for name, f := range map[string]*forger{
		"data":           forged(idData, good),
		"nothing in it":  forged(idTSTInfo, nil),
		"not a TSTInfo":  forged(idTSTInfo, []byte("content")),
		"more behind it": forged(idTSTInfo, append(good[:len(good):len(good)], 5, 0)),
	} {
		_, err := cms.ParseToken(f.sign(t))
		require.ErrorIs(t, err, cms.ErrStructure, name)
	}
	twice := unsigned(t, forged(idTSTInfo, good).sign(t), attribute(t, idTimeStamp, value(t, 7)))
	_, err = cms.ParseToken(twice)
	require.NoError(t, err)
	_, err = cms.ParseTokenStrict(twice)
	require.ErrorContains(t, err, "the time-stamp contains a time-stamp")
	normal, err := cms.Normalize(twice)
	require.NoError(t, err)
	_, err = cms.ParseTokenStrict(normal)
	require.NoError(t, err)
}

// TestOtherCMS checks that messages that are not signatures, and messages with unusable content, are rejected.
func TestOtherCMS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, c := issueKey(t, ca)
	f := forge(t, key, c, ca.cert)
	f.root.children[0] = value(t, idData)
	_, err := cms.Parse(f.root.write(t))
	require.ErrorContains(t, err, "no SignedData")

	f = forge(t, key, c, ca.cert)
	data := find(f.root, 1, 0)
	lists := &element{head: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true}, children: []*element{value(t, 1)}}
	data.children = slices.Insert(data.children, 4, lists)
	s, err := cms.Parse(f.root.write(t))
	require.NoError(t, err)
	require.NoError(t, s.Verify(contentDigest[:]))
	_, err = cms.ParseStrict(f.root.write(t))
	require.ErrorIs(t, err, cms.ErrStructure)

	der := forge(t, key, c, ca.cert).sign(t)
	_, err = cms.ParseStrict(append(der[:len(der):len(der)], make([]byte, 1<<20-len(der))...))
	require.NoError(t, err, "a message of 1 MiB, including the padding, must be accepted")
	_, err = cms.Parse(append(der[:len(der):len(der)], make([]byte, 1<<20-len(der)+1)...))
	require.ErrorContains(t, err, "too large")
}
