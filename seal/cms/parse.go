package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha1"   //nolint:gosec // RFC 2634; SHA-1 identifies a certificate whose own signature is checked
	_ "crypto/sha512" // for hashOf
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"go.mozilla.org/pkcs7"
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"countersign/seal/trust"
)

// Signed is a parsed CMS signature with one signer.
type Signed struct {
	Certificate  *x509.Certificate   // certificate of the signer
	Certificates []*x509.Certificate // all certificates in the message
	Token        []byte              // signature time-stamp in DER; nil if there is none
	Signature    []byte              // raw signature value

	message     *message
	content     []byte
	contentType asn1.ObjectIdentifier
	digest      []byte // messageDigest attribute
	attributes  []byte // signed attributes as a DER SET
	hash        crypto.Hash
	certHash    []byte // hash in the signing-certificate attribute
	certHashAlg crypto.Hash
}

// Limits for parsing. Real signatures are smaller than 20 KiB.
const (
	maxDER          = 1 << 20
	maxCertificates = 16
)

// ErrStructure is wrapped by errors about an invalid CMS structure.
var ErrStructure = errors.New("cms: malformed signature")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrStructure, what) }

// Parse parses a CMS SignedData in DER with exactly one signer. It permits trailing zero bytes, which are the padding
// of /Contents. It ignores parts that are not used here; ParseStrict rejects them.
func Parse(der []byte) (*Signed, error) {
	s, _, err := parse(der)
	return s, err
}

// ParseStrict is like Parse, but accepts only the canonical form written by Sign and normalize. In this form, the
// signature covers everything with two exceptions: the padding, which must be zero, and the number of certificates at
// the end of the chain.
func ParseStrict(der []byte) (*Signed, error) {
	s, raw, err := parse(der)
	if err != nil {
		return nil, err
	}
	again, err := s.message.write()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, raw) {
		return nil, malformed("the signature is not in the canonical form of a seal")
	}
	chain := s.Chain()
	if len(chain) != len(s.Certificates) {
		return nil, malformed("the signature contains certificates outside the signer's chain")
	}
	for i, c := range chain {
		if c != s.Certificates[i] {
			return nil, malformed("the certificates are not in chain order")
		}
	}
	if low, err := normalizeSignature(s.Certificate.PublicKey, s.Signature); err != nil || !bytes.Equal(low, s.Signature) {
		return nil, malformed("the signature value is not the smaller of the two valid ones")
	}
	return s, nil
}

// normalize returns a message in the form that ParseStrict accepts. It removes unsigned attributes and certificates
// outside the signer's chain, and selects the smaller of the two valid signature values. The message's signature covers
// none of these.
func normalize(der []byte) ([]byte, error) {
	s, _, err := parse(der)
	if err != nil {
		return nil, err
	}
	m := *s.message
	m.certificates, m.token = s.Chain(), nil
	if m.signature, err = normalizeSignature(m.signer.PublicKey, m.signature); err != nil {
		return nil, err
	}
	return m.write()
}

func parse(der []byte) (*Signed, []byte, error) {
	if len(der) > maxDER {
		return nil, nil, malformed("too large")
	}
	in := cryptobyte.String(der)
	var raw cryptobyte.String
	if !in.ReadASN1Element(&raw, cbasn1.SEQUENCE) {
		return nil, nil, malformed("not DER")
	}
	if len(bytes.Trim(in, "\x00")) > 0 {
		return nil, nil, malformed("trailing bytes")
	}
	m, err := readMessage(raw)
	if err != nil {
		return nil, nil, err
	}
	s := &Signed{
		Certificate: m.signer, Certificates: m.certificates, Token: m.token, Signature: m.signature,
		message: m, content: m.content, hash: m.hash,
	}
	for _, a := range m.attributes {
		switch {
		case a.kind.Equal(pkcs7.OIDAttributeMessageDigest):
			_, err = asn1.Unmarshal(a.value, &s.digest)
		case a.kind.Equal(pkcs7.OIDAttributeContentType):
			_, err = asn1.Unmarshal(a.value, &s.contentType)
		case a.kind.Equal(oidSigningCertV2):
			s.certHash, s.certHashAlg, err = readCertID(a.value, crypto.SHA256)
		case a.kind.Equal(oidSigningCert) && s.certHash == nil:
			s.certHash, s.certHashAlg, err = readCertID(a.value, crypto.SHA1)
		}
		if err != nil {
			return nil, nil, malformed("signed attributes")
		}
	}
	if !s.contentType.Equal(m.contentType) { // RFC 5652, 11.1
		return nil, nil, malformed("the signed content type differs")
	}
	s.attributes = m.signedAttributes(cbasn1.SET)
	return s, raw, nil
}

// readCertID returns the hash, and its algorithm, of the first certificate in a signing-certificate attribute.
func readCertID(der []byte, def crypto.Hash) ([]byte, crypto.Hash, error) {
	var attr struct {
		Certs    []asn1.RawValue
		Policies asn1.RawValue `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(der, &attr); err != nil {
		return nil, 0, err
	}
	if len(attr.Certs) == 0 {
		return nil, 0, errors.New("no certificate")
	}
	rest := attr.Certs[0].Bytes
	var first asn1.RawValue
	rest, err := asn1.Unmarshal(rest, &first)
	if err != nil {
		return nil, 0, err
	}
	alg := def
	if first.Tag == asn1.TagSequence { // an AlgorithmIdentifier comes first
		var oid asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(first.Bytes, &oid); err != nil {
			return nil, 0, err
		}
		if alg, err = hashOf(oid); err != nil {
			return nil, 0, err
		}
		if _, err = asn1.Unmarshal(rest, &first); err != nil {
			return nil, 0, err
		}
	}
	return first.Bytes, alg, nil
}

func hashOf(oid asn1.ObjectIdentifier) (crypto.Hash, error) {
	for hash, id := range digestAlgorithms {
		if oid.Equal(id) {
			return hash, nil
		}
	}
	return 0, malformed("digest algorithm " + oid.String())
}

// IsPAdES reports whether the signature is a detached signature of data (id-data) with exactly the attributes written
// by Sign.
func (s *Signed) IsPAdES() bool {
	if s.content != nil || !s.contentType.Equal(pkcs7.OIDData) || len(s.message.attributes) != 3 {
		return false
	}
	for _, a := range s.message.attributes {
		if !a.kind.Equal(pkcs7.OIDAttributeContentType) && !a.kind.Equal(pkcs7.OIDAttributeMessageDigest) && !a.kind.Equal(oidSigningCertV2) {
			return false
		}
	}
	return true
}

// Hash returns the digest algorithm of the content.
func (s *Signed) Hash() crypto.Hash { return s.hash }

// Errors returned by Verify.
var (
	ErrDigest    = errors.New("the signed digest differs from the digest of the content")
	ErrSignature = errors.New("the signature value is wrong")
	ErrCertID    = errors.New("the signature refers to a different certificate than the one it contains")
)

// Verify checks the signature of content with the given digest.
func (s *Signed) Verify(digest []byte) error {
	if len(s.digest) == 0 || !bytes.Equal(s.digest, digest) {
		return ErrDigest
	}
	if err := s.verifyCertID(); err != nil {
		return err
	}
	sum := hashSum(s.hash, s.attributes)
	switch pub := s.Certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if !ecdsa.VerifyASN1(pub, sum, s.Signature) {
			return ErrSignature
		}
	case *rsa.PublicKey:
		if n := pub.N.BitLen(); n < 2048 { // Parse rejects keys larger than trust.MaxRSABits
			return fmt.Errorf("%w: RSA key of %d bits", ErrSignature, n)
		}
		if rsa.VerifyPKCS1v15(pub, s.hash, sum, s.Signature) != nil {
			return ErrSignature
		}
	default:
		return fmt.Errorf("%w: key of type %T", ErrSignature, pub)
	}
	return nil
}

func (s *Signed) verifyCertID() error {
	if s.certHash == nil {
		return fmt.Errorf("%w: no signing-certificate attribute", ErrCertID)
	}
	if !bytes.Equal(hashSum(s.certHashAlg, s.Certificate.Raw), s.certHash) {
		return ErrCertID
	}
	return nil
}

// hashSum returns the digest of b. It supports the algorithms of hashOf, and SHA-1, which RFC 2634 specifies and
// time-stamp authorities still use to identify certificates.
func hashSum(algorithm crypto.Hash, b []byte) []byte {
	h := algorithm.New()
	h.Write(b)
	return h.Sum(nil)
}

// Chain returns the contained certificates that form a chain, starting with the signer's. It excludes a root with an
// invalid self-signature, because anyone could have modified it.
func (s *Signed) Chain() []*x509.Certificate {
	chain := trust.Chain(s.Certificate, s.Certificates)
	top := chain[len(chain)-1]
	if len(chain) > 1 && bytes.Equal(top.RawIssuer, top.RawSubject) && top.CheckSignature(top.SignatureAlgorithm, top.RawTBSCertificate, top.Signature) != nil {
		return chain[:len(chain)-1]
	}
	return chain
}
