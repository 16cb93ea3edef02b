package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha1" //nolint:gosec // RFC 2634; it names a certificate whose own signature is checked
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
	"slices"
	"time"

	"go.mozilla.org/pkcs7"
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Signed is a parsed CMS signature with one signer.
type Signed struct {
	Certificate  *x509.Certificate   // the signer's
	Certificates []*x509.Certificate // all that it carries
	SigningTime  bool                // carries the attribute that PAdES forbids
	Token        []byte              // the signature time-stamp, DER; nil if none
	Signature    []byte              // the raw signature value

	message     *message
	content     []byte
	contentType asn1.ObjectIdentifier
	digest      []byte // the messageDigest attribute
	attributes  []byte // signed attributes as a DER SET
	hash        crypto.Hash
	certHash    []byte // of signing-certificate-v2
	certHashAlg crypto.Hash
}

// Bounds of what is parsed: real signatures have less than 20 KiB.
const (
	maxDER          = 1 << 20
	maxCertificates = 16
	maxRSABits      = 8192
)

// ErrStructure is wrapped by errors about a CMS that cannot be understood.
var ErrStructure = errors.New("cms: malformed signature")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrStructure, what) }

// Parse reads a CMS SignedData in DER with exactly one signer. Zero bytes after
// it are allowed, as padding of /Contents. What else it carries than is of use
// here is left out: ParseStrict refuses that.
func Parse(der []byte) (*Signed, error) {
	s, _, err := parse(der)
	return s, err
}

// ParseStrict is Parse of a message in the one form that Sign and Normalize
// write: nothing in it can be changed that no signature covers, but the padding
// (which must be zero) and how many of the certificates at the chain's end are there.
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
		return nil, malformed("it is not in the form in which the seal writes it")
	}
	chain := s.Chain()
	if len(chain) != len(s.Certificates) {
		return nil, malformed("it carries other certificates than its signer's chain")
	}
	for i, c := range chain {
		if c != s.Certificates[i] {
			return nil, malformed("its certificates are not in the order of the chain")
		}
	}
	if low, err := normalizeSignature(s.Certificate.PublicKey, s.Signature); err != nil || !bytes.Equal(low, s.Signature) {
		return nil, malformed("the signature value is not the smaller one of the two that are right")
	}
	return s, nil
}

// Normalize returns a message in the form that ParseStrict accepts: with the
// certificates of the signer's chain alone, without unsigned attributes, and with
// the smaller one of two right signature values. None of this is covered by its
// signature.
func Normalize(der []byte) ([]byte, error) {
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
		return nil, nil, malformed("bytes after the end")
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
		case a.kind.Equal(pkcs7.OIDAttributeSigningTime):
			s.SigningTime = true
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
		return nil, nil, malformed("the signed content type is another one")
	}
	if s.attributes, err = m.set(); err != nil {
		return nil, nil, malformed("signed attributes")
	}
	return s, raw, nil
}

// readCertID returns the hash of the first certificate that a
// signing-certificate attribute names.
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
	switch {
	case oid.Equal(pkcs7.OIDDigestAlgorithmSHA256):
		return crypto.SHA256, nil
	case oid.Equal(pkcs7.OIDDigestAlgorithmSHA384):
		return crypto.SHA384, nil
	case oid.Equal(pkcs7.OIDDigestAlgorithmSHA512):
		return crypto.SHA512, nil
	}
	return 0, malformed("digest algorithm " + oid.String())
}

// IsPAdES reports whether the signature is one of data (id-data) that it does
// not carry, with the attributes that Sign writes and no others.
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

// Hash is the digest algorithm of the content.
func (s *Signed) Hash() crypto.Hash { return s.hash }

// NewHash returns the hash that the content is to be run through.
func (s *Signed) NewHash() hash.Hash {
	switch s.hash {
	case crypto.SHA384:
		return sha512.New384()
	case crypto.SHA512:
		return sha512.New()
	default:
		return sha256.New()
	}
}

// Errors of Verify, one per way to be broken.
var (
	ErrDigest    = errors.New("the signed digest is not that of the content")
	ErrSignature = errors.New("the signature value is wrong")
	ErrCertID    = errors.New("the signature names another certificate than it carries")
)

// Verify checks the signature of content with the given digest.
func (s *Signed) Verify(digest []byte) error {
	if len(s.digest) == 0 || !bytes.Equal(s.digest, digest) {
		return ErrDigest
	}
	if err := s.verifyCertID(); err != nil {
		return err
	}
	h := s.NewHash()
	h.Write(s.attributes)
	sum := h.Sum(nil)
	switch pub := s.Certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if !ecdsa.VerifyASN1(pub, sum, s.Signature) {
			return ErrSignature
		}
	case *rsa.PublicKey:
		if n := pub.N.BitLen(); n < 2048 || n > maxRSABits {
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
	h := s.certHashAlg.New() // SHA-1 is that of RFC 2634, which time-stamp authorities still use
	h.Write(s.Certificate.Raw)
	if !bytes.Equal(h.Sum(nil), s.certHash) {
		return ErrCertID
	}
	return nil
}

// VerifyChain returns the signer's chain up to one of the roots at a time.
func (s *Signed) VerifyChain(roots *x509.CertPool, at time.Time, usage x509.ExtKeyUsage) ([]*x509.Certificate, error) {
	inter := x509.NewCertPool()
	for _, c := range s.Certificates {
		inter.AddCert(c)
	}
	if roots == nil {
		roots = x509.NewCertPool()
	}
	chains, err := s.Certificate.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: inter, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}

// Chain orders the carried certificates from the signer's upwards, as far as
// they go. A root that did not sign itself is none: anybody could have changed it.
func (s *Signed) Chain() []*x509.Certificate {
	chain := []*x509.Certificate{s.Certificate}
	for len(chain) <= len(s.Certificates) {
		last := chain[len(chain)-1]
		if bytes.Equal(last.RawIssuer, last.RawSubject) {
			break
		}
		i := slices.IndexFunc(s.Certificates, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil
		})
		if i < 0 || !soundRoot(s.Certificates[i]) {
			break
		}
		chain = append(chain, s.Certificates[i])
	}
	return chain
}

// soundRoot reports whether a certificate that names itself as its issuer carries its own signature.
func soundRoot(c *x509.Certificate) bool {
	return !bytes.Equal(c.RawIssuer, c.RawSubject) || c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}
