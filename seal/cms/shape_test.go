package cms_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/cms"
	"countersign/test/kit"
)

// element is a DER element with its child elements.
type element struct {
	head     asn1.RawValue
	children []*element
}

func readElements(t *testing.T, der []byte) []*element {
	t.Helper()
	var out []*element
	for len(der) > 0 {
		e := &element{}
		var err error
		der, err = asn1.Unmarshal(der, &e.head)
		require.NoError(t, err)
		if e.head.IsCompound {
			e.children = readElements(t, e.head.Bytes)
		}
		out = append(out, e)
	}
	return out
}

func (e *element) write(t *testing.T) []byte {
	t.Helper()
	v := asn1.RawValue{Class: e.head.Class, Tag: e.head.Tag, IsCompound: e.head.IsCompound, Bytes: e.head.Bytes}
	if e.head.IsCompound {
		v.Bytes = nil
		for _, c := range e.children {
			v.Bytes = append(v.Bytes, c.write(t)...)
		}
	}
	der, err := asn1.Marshal(v)
	require.NoError(t, err)
	return der
}

// otherShapes calls f with every variant of a message in which one element is removed, replaced by an element of
// another type, or followed by an additional element. The name specifies the position of the element. For example,
// "1.0.2" is the third element of the first element of the second element.
func otherShapes(t *testing.T, der []byte, f func(name string, der []byte)) {
	t.Helper()
	root := readElements(t, der)[0]
	require.Equal(t, der, root.write(t))
	null := &element{head: asn1.RawValue{Tag: asn1.TagNull}}
	var visit func(path string, e *element)
	visit = func(path string, e *element) {
		if e.head.IsCompound {
			own := e.children
			e.children = append(slices.Clone(own), null)
			f("more in "+path, root.write(t))
			for i := range own {
				e.children = slices.Delete(slices.Clone(own), i, i+1)
				f(fmt.Sprintf("without %s.%d", path, i), root.write(t))
				e.children = slices.Clone(own)
				e.children[i] = null
				f(fmt.Sprintf("another for %s.%d", path, i), root.write(t))
			}
			e.children = own
			for i, c := range own {
				visit(fmt.Sprintf("%s.%d", path, i), c)
			}
		}
	}
	visit("0", root)
}

// TestParse_UnexpectedForm_IsRejected checks that a message with an additional, missing or changed element is rejected
// or has an invalid signature. The exceptions are meaningless elements that no signature covers. A message with one of
// these is not in canonical form.
func TestParse_UnexpectedForm_IsRejected(t *testing.T) {
	t.Parallel()
	signature, err := newSigner(t).Sign(context.Background(), contentDigest, nil)
	require.NoError(t, err)
	tsa := kit.NewTSA(t)
	token, err := (&cms.Authority{URL: tsa.URL, Client: &http.Client{Timeout: time.Minute}, Rand: rand.Reader}).Stamp(t.Context(), contentDigest[:])
	require.NoError(t, err)
	says := []string{
		"more in 0.1.0.1", "without 0.1.0.1.0", "another for 0.1.0.1.0", "more in 0.1.0.1.0", "without 0.1.0.1.0.0", "another for 0.1.0.1.0.0", // digest algorithms, which the signer's entry repeats
		"more in 0.1.0.3",                            // another kind of certificate
		"more in 0.1.0.4.0.2", "more in 0.1.0.4.0.4", // parameters of algorithms
	}
	roots := regexp.MustCompile(`^(more in|without|another for) 0\.1\.0\.3\.1`) // the authority's root certificate, which a verifier must already have
	ends := []string{
		"without 0.1.0.3.1",                                                                 // the chain can end earlier
		"without 0.1.0.3.1.0.3.0", "without 0.1.0.3.1.0.3.0.0", "more in 0.1.0.3.1.0.3.0.0", // or lack an issuer, whose certificate a verifier must then have
	}
	for _, kind := range []struct {
		name          string
		der           []byte
		parse, strict func([]byte) error
	}{
		{"signature", signature, sound(cms.Parse, contentDigest[:]), sound(cms.ParseStrict, contentDigest[:])},
		{"token", token, sound(cms.ParseToken, contentDigest[:]), sound(cms.ParseTokenStrict, contentDigest[:])},
	} {
		require.NoError(t, kind.strict(kind.der), kind.name)
		otherShapes(t, kind.der, func(name string, der []byte) {
			if err := kind.parse(der); !roots.MatchString(name) {
				require.Equal(t, slices.Contains(says, name), err == nil, "%s %s: %v", kind.name, name, err)
			}
			if err := kind.strict(der); err == nil {
				require.Contains(t, ends, name, "%s is accepted as a seal's %s", kind.name, name)
			}
		})
	}
}

// sound returns a function that parses a message and verifies it against a digest.
func sound[M interface{ Verify(digest []byte) error }](parse func([]byte) (M, error), digest []byte) func([]byte) error {
	return func(der []byte) error {
		m, err := parse(der)
		if err != nil {
			return err
		}
		return m.Verify(digest)
	}
}

// TestStatement_UnexpectedForm_IsRejected checks that an authority's statement is accepted only in canonical
// form, without additions.
func TestStatement_UnexpectedForm_IsRejected(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := ca.issue(t, 7)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}, ca.cert, ca.key)
	require.NoError(t, err)
	crl, err = cms.NormalizeCRL(crl, ca.cert)
	require.NoError(t, err)
	answer, err := ocsp.CreateResponse(ca.cert, ca.cert, ocsp.Response{
		Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour),
	}, ca.key)
	require.NoError(t, err)
	answer, err = cms.NormalizeOCSP(answer, c, ca.cert)
	require.NoError(t, err)
	for name, s := range map[string]cms.Statement{"list": {CRL: crl}, "answer": {OCSP: answer}} {
		require.NoError(t, s.CheckValid(c, ca.cert), name)
		otherShapes(t, append(s.OCSP, s.CRL...), func(shape string, der []byte) {
			other := cms.Statement{OCSP: der}
			if s.CRL != nil {
				other = cms.Statement{CRL: der}
			}
			require.Error(t, other.CheckValid(c, ca.cert), "%s: %s", name, shape)
			if s.CRL != nil {
				_, err := cms.NormalizeCRL(der, ca.cert)
				require.Error(t, err, "%s: %s", name, shape)
			}
		})
	}
}

// TestStatement_EmptySignature_IsRejected checks that a revocation list and an OCSP response are rejected if their
// signature is an empty BIT STRING that lacks even its first octet.
func TestStatement_EmptySignature_IsRejected(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	c := ca.issue(t, 7)
	present := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	crl, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: present, NextUpdate: present.Add(time.Hour)}, ca.cert, ca.key)
	require.NoError(t, err)
	list := readElements(t, crl)[0]
	require.Equal(t, asn1.TagBitString, list.children[2].head.Tag)
	list.children[2].head.Bytes = nil
	_, err = cms.NormalizeCRL(list.write(t), ca.cert)
	require.EqualError(t, err, "cms: a revocation list is malformed")

	der, err := ocsp.CreateResponse(ca.cert, ca.cert, ocsp.Response{
		Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: present, NextUpdate: present.Add(time.Hour),
	}, ca.key)
	require.NoError(t, err)
	answer := readElements(t, der)[0]
	octets := find(answer, 1, 0, 1)
	basic := readElements(t, octets.head.Bytes)[0]
	require.Equal(t, asn1.TagBitString, basic.children[2].head.Tag)
	basic.children[2].head.Bytes = nil
	octets.head.Bytes = basic.write(t)
	_, err = cms.NormalizeOCSP(answer.write(t), c, ca.cert)
	require.EqualError(t, err, "cms: the OCSP response is malformed")
}

func find(root *element, path ...int) *element {
	for _, i := range path {
		root = root.children[i]
	}
	return root
}

// unsigned adds unsigned attributes to the signer of a message.
func unsigned(t *testing.T, der []byte, attributes ...*element) []byte {
	t.Helper()
	root := readElements(t, der)[0]
	signer := find(root, 1, 0, 4, 0)
	signer.children = append(signer.children, &element{head: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true}, children: attributes})
	return root.write(t)
}

func attribute(t *testing.T, oid asn1.ObjectIdentifier, values ...*element) *element {
	t.Helper()
	kind, err := asn1.Marshal(oid)
	require.NoError(t, err)
	return &element{head: asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true}, children: []*element{
		readElements(t, kind)[0], {head: asn1.RawValue{Tag: asn1.TagSet, IsCompound: true}, children: values},
	}}
}

// TestUnsignedAttributesAreBounded checks that at most 32 distinct unsigned attributes with one value each are
// accepted, and that a time-stamp is found among them.
func TestUnsignedAttributesAreBounded(t *testing.T) {
	t.Parallel()
	der, err := newSigner(t).Sign(context.Background(), contentDigest, nil)
	require.NoError(t, err)
	number := func(n byte) *element { return &element{head: asn1.RawValue{Tag: asn1.TagInteger, Bytes: []byte{n}}} }
	many := func(n int) (out []*element) {
		for i := range n {
			out = append(out, attribute(t, asn1.ObjectIdentifier{1, 2, 3, i}, number(1)))
		}
		return out
	}
	token := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	s, err := cms.Parse(unsigned(t, der, append(many(31), attribute(t, token, number(7)))...))
	require.NoError(t, err)
	require.Equal(t, []byte{2, 1, 7}, s.Token)
	require.NoError(t, s.Verify(contentDigest[:]))
	more := attribute(t, token, number(1))
	more.children = append(more.children, number(2))
	for name, attributes := range map[string][]*element{
		"more in one": {more},
		"33":          many(33),
		"one twice":   append(many(2), many(1)...),
		"no value":    {attribute(t, token)},
		"two values":  {attribute(t, token, number(1), number(2))},
	} {
		_, err := cms.Parse(unsigned(t, der, attributes...))
		require.ErrorIs(t, err, cms.ErrStructure, name)
	}
	_, err = cms.ParseStrict(unsigned(t, der, many(1)...))
	require.ErrorIs(t, err, cms.ErrStructure, "no signature covers unsigned attributes")
}

// TestCertificatesAreBounded checks that at most 16 certificates are accepted, and that the signer can be identified by
// its key identifier.
func TestCertificatesAreBounded(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := ca.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(9), NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter, SubjectKeyId: []byte("identifier"),
	}, ca.cert, key.Public())
	der := forge(t, key, c, ca.cert).root.write(t)

	root := readElements(t, der)[0]
	certificates := find(root, 1, 0, 3)
	require.Len(t, certificates.children, 2)
	for len(certificates.children) < 16 {
		certificates.children = append(certificates.children, certificates.children[0])
	}
	s, err := cms.Parse(root.write(t))
	require.NoError(t, err)
	require.NoError(t, s.Verify(contentDigest[:]))
	require.Len(t, s.Certificates, 16)
	require.Len(t, s.Chain(), 2)
	certificates.children = append(certificates.children, certificates.children[0])
	_, err = cms.Parse(root.write(t))
	require.ErrorIs(t, err, cms.ErrStructure)

	for id, good := range map[string]bool{"identifier": true, "identifieR": false, "": false} {
		root := readElements(t, der)[0]
		find(root, 1, 0, 4, 0).children[1] = &element{head: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, Bytes: []byte(id)}}
		s, err := cms.Parse(root.write(t))
		if !good {
			require.ErrorIs(t, err, cms.ErrStructure, id)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, s.Verify(contentDigest[:]))
		_, err = cms.ParseStrict(root.write(t))
		require.ErrorIs(t, err, cms.ErrStructure, "a seal must identify its signer by issuer and serial number")
	}
}

// TestSigner_IsTheNamedOne checks that the signer is identified by issuer and serial number, or by its key
// identifier.
func TestSigner_IsTheNamedOne(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := func(serial int64) *x509.Certificate {
		return ca.sign(t, &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter}, ca.cert, key.Public())
	}
	c := leaf(9)
	require.Empty(t, c.SubjectKeyId)
	der := forge(t, key, c, ca.cert).root.write(t)
	root := readElements(t, der)[0]
	certificates := find(root, 1, 0, 3)
	certificates.children = append(readElements(t, leaf(10).Raw), certificates.children...)
	s, err := cms.Parse(root.write(t))
	require.NoError(t, err)
	require.Equal(t, c.Raw, s.Certificate.Raw)

	root = readElements(t, der)[0]
	find(root, 1, 0, 4, 0).children[1] = &element{head: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, Bytes: []byte{}}}
	_, err = cms.Parse(root.write(t))
	require.ErrorIs(t, err, cms.ErrStructure, "a missing identifier must match no certificate, not even one without an identifier")
}
