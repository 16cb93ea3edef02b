package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
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
)

// Signed is a parsed CMS signature with one signer.
type Signed struct {
	Certificate  *x509.Certificate   // the signer's
	Certificates []*x509.Certificate // all that it carries
	SigningTime  bool                // carries the attribute that PAdES forbids
	Token        []byte              // the signature time-stamp, DER; nil if none
	Signature    []byte              // the raw signature value

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
	maxCertificates = 32
	maxRSABits      = 8192
)

// ErrStructure is wrapped by errors about a CMS that cannot be understood.
var ErrStructure = errors.New("cms: malformed signature")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrStructure, what) }

// Parse reads a CMS SignedData with exactly one signer. Zero bytes after it
// are allowed, as padding of /Contents.
func Parse(der []byte) (*Signed, error) {
	if len(der) > maxDER {
		return nil, malformed("too large")
	}
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(der, &outer)
	if err != nil {
		return nil, malformed("not DER")
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, malformed("bytes after the end")
	}
	p7, err := parsePKCS7(outer.FullBytes)
	if err != nil {
		return nil, malformed("no SignedData")
	}
	if len(p7.Certificates) > maxCertificates {
		return nil, malformed("too many certificates")
	}
	if len(p7.Signers) != 1 {
		return nil, malformed("not exactly one signer")
	}
	s := &Signed{Certificates: p7.Certificates, content: p7.Content}
	si := &p7.Signers[0]
	for _, c := range p7.Certificates {
		if c.SerialNumber.Cmp(si.IssuerAndSerialNumber.SerialNumber) == 0 &&
			bytes.Equal(c.RawIssuer, si.IssuerAndSerialNumber.IssuerName.FullBytes) {
			s.Certificate = c
		}
	}
	if s.Certificate == nil {
		return nil, malformed("the signer's certificate is missing")
	}
	s.Signature = si.EncryptedDigest
	if s.hash, err = hashOf(si.DigestAlgorithm.Algorithm); err != nil {
		return nil, err
	}
	var encoded [][]byte
	for _, a := range si.AuthenticatedAttributes {
		b, err := asn1.Marshal(a)
		if err != nil {
			return nil, malformed("signed attributes")
		}
		encoded = append(encoded, b)
		switch {
		case a.Type.Equal(pkcs7.OIDAttributeMessageDigest):
			_, err = asn1.Unmarshal(a.Value.Bytes, &s.digest)
		case a.Type.Equal(pkcs7.OIDAttributeContentType):
			_, err = asn1.Unmarshal(a.Value.Bytes, &s.contentType)
		case a.Type.Equal(pkcs7.OIDAttributeSigningTime):
			s.SigningTime = true
		case a.Type.Equal(oidSigningCertV2):
			s.certHash, s.certHashAlg, err = readCertID(a.Value.Bytes, crypto.SHA256)
		case a.Type.Equal(oidSigningCert) && s.certHash == nil:
			s.certHash, s.certHashAlg, err = readCertID(a.Value.Bytes, crypto.SHA1)
		}
		if err != nil {
			return nil, malformed("signed attributes")
		}
	}
	if s.attributes, err = marshalSet(encoded); err != nil {
		return nil, malformed("signed attributes")
	}
	for _, a := range si.UnauthenticatedAttributes {
		if a.Type.Equal(oidTimeStampToken) {
			s.Token = a.Value.Bytes
		}
	}
	return s, nil
}

// parsePKCS7 turns a panic of the library into an error: what it is given may
// come from anyone.
func parsePKCS7(der []byte) (p7 *pkcs7.PKCS7, err error) {
	defer func() {
		if recover() != nil {
			err = ErrStructure
		}
	}()
	return pkcs7.Parse(der)
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
	if s.certHashAlg == crypto.SHA1 {
		return nil // RFC 2634: met in old time-stamps; the certificate's signature is checked anyway
	}
	h := s.certHashAlg.New()
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
// they go.
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
		if i < 0 {
			break
		}
		chain = append(chain, s.Certificates[i])
	}
	return chain
}
