// Package cms creates and verifies CMS signatures for PAdES (ETSI EN 319 142-1, EN 319 122-1; RFC 5652), and RFC 3161
// time-stamps. It signs a digest computed while streaming, with any crypto.Signer.
package cms

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"

	"go.mozilla.org/pkcs7"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

var (
	oidSigningCertV2   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47} // RFC 5035
	oidSigningCert     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12} // RFC 2634
	oidTimeStampToken  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14} // RFC 3161, appendix A
	oidSHA256WithRSA   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	oidECDSAWithSHA256 = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidRSAPSS          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidTSTInfo         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}

	digestAlgorithms = map[crypto.Hash]asn1.ObjectIdentifier{
		crypto.SHA256: pkcs7.OIDDigestAlgorithmSHA256, crypto.SHA384: pkcs7.OIDDigestAlgorithmSHA384, crypto.SHA512: pkcs7.OIDDigestAlgorithmSHA512,
	}
)

// signingCertificate returns the signing-certificate-v2 attribute, which identifies a certificate by its hash, issuer
// and serial number (RFC 5035, section 3). It omits the hash algorithm because SHA-256 is the default.
func signingCertificate(c *x509.Certificate) pkcs7.Attribute {
	sum := sha256.Sum256(c.Raw)
	directoryName := element(cbasn1.Tag(4).ContextSpecific().Constructed(), c.RawIssuer)
	certID := sequence(element(cbasn1.OCTET_STRING, sum[:]), sequence(sequence(directoryName), integer(c.SerialNumber)))
	return pkcs7.Attribute{Type: oidSigningCertV2, Value: asn1.RawValue{FullBytes: sequence(sequence(certID))}}
}

// Signer signs digests. It is safe for concurrent use if its key is.
type Signer struct {
	key       crypto.Signer
	chain     []*x509.Certificate
	algorithm pkix.AlgorithmIdentifier
	stub      *ecdsa.PrivateKey
	rand      io.Reader
}

// NewSigner returns a Signer. It checks that the key matches the first certificate, that each certificate is signed by
// the next one, and that the key is P-256 or RSA with at least 2,048 bits.
func NewSigner(key crypto.Signer, chain []*x509.Certificate, rand io.Reader) (*Signer, error) {
	if key == nil || len(chain) == 0 {
		return nil, errors.New("cms: a key and its certificate are required")
	}
	s := &Signer{key: key, chain: chain, rand: rand}
	type comparer interface{ Equal(crypto.PublicKey) bool }
	switch pub := key.Public().(type) {
	case *ecdsa.PublicKey:
		if pub.Curve != elliptic.P256() {
			return nil, errors.New("cms: the only supported elliptic curve is P-256")
		}
		s.algorithm = pkix.AlgorithmIdentifier{Algorithm: oidECDSAWithSHA256}
	case *rsa.PublicKey:
		if pub.N.BitLen() < 2048 {
			return nil, errors.New("cms: an RSA key must have at least 2048 bits")
		}
		// The parameters must be NULL rather than absent (RFC 4055, section 5).
		s.algorithm = pkix.AlgorithmIdentifier{Algorithm: oidSHA256WithRSA, Parameters: asn1.NullRawValue}
	default:
		return nil, fmt.Errorf("cms: keys of type %T are not supported", pub)
	}
	pub, ok := key.Public().(comparer)
	if !ok || !pub.Equal(chain[0].PublicKey) {
		return nil, errors.New("cms: the key does not belong to the certificate")
	}
	for i := 1; i < len(chain); i++ {
		if err := chain[i-1].CheckSignatureFrom(chain[i]); err != nil {
			return nil, fmt.Errorf("cms: certificate %d did not issue certificate %d: %w", i, i-1, err)
		}
	}
	var err error
	s.stub, err = ecdsa.GenerateKey(elliptic.P256(), rand)
	return s, err
}

// Certificate returns the signing certificate.
func (s *Signer) Certificate() *x509.Certificate { return s.chain[0] }

// StampFunc returns a time-stamp token over a digest.
type StampFunc func(ctx context.Context, digest []byte) ([]byte, error)

// Sign returns a detached CMS signature of the content with the given SHA-256 digest. As required by PAdES (EN 319
// 142-1, 6.3), it includes signing-certificate-v2 and omits signing-time. If stamp is not nil, it adds a signature
// time-stamp.
func (s *Signer) Sign(ctx context.Context, digest [sha256.Size]byte, stamp StampFunc) ([]byte, error) {
	sd, err := pkcs7.NewSignedData(nil)
	if err != nil {
		return nil, err
	}
	sd.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	// Use a temporary key to let the library create the structure, and then replace the signature. The library cannot
	// hash content that is not available to it, and does not support every crypto.Signer.
	config := pkcs7.SignerInfoConfig{ExtraSignedAttributes: []pkcs7.Attribute{signingCertificate(s.chain[0])}}
	if err := sd.AddSignerChain(s.chain[0], s.stub, s.chain[1:], config); err != nil {
		return nil, err
	}
	si := &sd.GetSignedData().SignerInfos[0]
	attrs := si.AuthenticatedAttributes[:0]
	for _, a := range si.AuthenticatedAttributes {
		if a.Type.Equal(pkcs7.OIDAttributeSigningTime) {
			continue
		}
		if a.Type.Equal(pkcs7.OIDAttributeMessageDigest) {
			a.Value = asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: element(cbasn1.OCTET_STRING, digest[:])}
		}
		attrs = append(attrs, a)
	}
	si.AuthenticatedAttributes = attrs
	encoded := make([][]byte, len(attrs))
	for i, a := range attrs {
		if encoded[i], err = asn1.Marshal(a); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(sortedSet(cbasn1.SET, encoded))
	if si.EncryptedDigest, err = s.key.Sign(s.rand, sum[:], crypto.SHA256); err != nil {
		return nil, fmt.Errorf("cms: signing: %w", err)
	}
	if si.EncryptedDigest, err = normalizeSignature(s.key.Public(), si.EncryptedDigest); err != nil {
		return nil, err
	}
	si.DigestEncryptionAlgorithm = s.algorithm
	if stamp != nil {
		sum := sha256.Sum256(si.EncryptedDigest)
		token, err := stamp(ctx, sum[:])
		if err != nil {
			return nil, fmt.Errorf("cms: time-stamp: %w", err)
		}
		attr := pkcs7.Attribute{Type: oidTimeStampToken, Value: asn1.RawValue{FullBytes: token}}
		if err := si.SetUnauthenticatedAttributes([]pkcs7.Attribute{attr}); err != nil {
			return nil, err
		}
	}
	sd.Detach()
	return sd.Finish()
}
