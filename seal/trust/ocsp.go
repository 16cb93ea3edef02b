package trust

import (
	"bytes"
	"crypto"
	_ "crypto/sha1" //nolint:gosec // identifies certificates in OCSP, signs nothing
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"
	"time"
)

// ocspResponse and the types below are the ASN.1 structure of an OCSP response (RFC 6960, section 4.2.1).
type ocspResponse struct {
	Status asn1.Enumerated
	Bytes  struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	} `asn1:"explicit,tag:0,optional"`
}

type basicResponse struct {
	Data         responseData
	Algorithm    pkix.AlgorithmIdentifier
	Signature    asn1.BitString
	Certificates []asn1.RawValue `asn1:"explicit,tag:0,optional"`
}

type responseData struct {
	Raw        asn1.RawContent
	Version    int `asn1:"optional,default:0,explicit,tag:0"`
	Responder  asn1.RawValue
	ProducedAt time.Time `asn1:"generalized"`
	Responses  []singleResponse
	Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
}

type singleResponse struct {
	ID struct {
		Hash       pkix.AlgorithmIdentifier
		IssuerName []byte
		IssuerKey  []byte
		Serial     *big.Int
	}
	Good       asn1.Flag        `asn1:"tag:0,optional"`
	Revoked    revokedInfo      `asn1:"tag:1,optional"`
	Unknown    asn1.Flag        `asn1:"tag:2,optional"`
	ThisUpdate time.Time        `asn1:"generalized"`
	NextUpdate time.Time        `asn1:"generalized,explicit,tag:0,optional"`
	Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
}

type revokedInfo struct {
	At     time.Time       `asn1:"generalized"`
	Reason asn1.Enumerated `asn1:"explicit,tag:0,optional"`
}

var (
	oidBasicResponse = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}

	// idHashes contains the hash algorithms that responses can use to identify an issuer.
	idHashes = map[string]crypto.Hash{
		"1.3.14.3.2.26": crypto.SHA1, "2.16.840.1.101.3.4.2.1": crypto.SHA256,
		"2.16.840.1.101.3.4.2.2": crypto.SHA384, "2.16.840.1.101.3.4.2.3": crypto.SHA512,
	}
	signatureAlgorithms = map[string]x509.SignatureAlgorithm{
		"1.2.840.113549.1.1.11": x509.SHA256WithRSA, "1.2.840.113549.1.1.12": x509.SHA384WithRSA, "1.2.840.113549.1.1.13": x509.SHA512WithRSA,
		"1.2.840.10045.4.3.2": x509.ECDSAWithSHA256, "1.2.840.10045.4.3.3": x509.ECDSAWithSHA384, "1.2.840.10045.4.3.4": x509.ECDSAWithSHA512,
	}
)

// Limits for an OCSP response. Real responses are a few thousand bytes long and cover one certificate.
const (
	MaxOCSP                  = 64 << 10 // in bytes
	maxResponses             = 64
	maxResponderCertificates = 8
)

// ocspAnswer is a parsed, unverified OCSP response.
type ocspAnswer struct {
	basic        basicResponse
	certificates []*x509.Certificate
}

func parseOCSP(der []byte) (*ocspAnswer, error) {
	var outer ocspResponse
	bad := errors.New("the OCSP response cannot be read")
	if len(der) > MaxOCSP {
		return nil, errors.New("the OCSP response is too large")
	}
	if rest, err := asn1.Unmarshal(der, &outer); err != nil || len(rest) > 0 {
		return nil, bad
	}
	if outer.Status != 0 || !outer.Bytes.Type.Equal(oidBasicResponse) {
		return nil, errors.New("the OCSP response is empty")
	}
	o := &ocspAnswer{}
	if rest, err := asn1.Unmarshal(outer.Bytes.Response, &o.basic); err != nil || len(rest) > 0 {
		return nil, bad
	}
	if !encodes(outer, der) || !encodes(o.basic, outer.Bytes.Response) {
		return nil, bad
	}
	if len(o.basic.Certificates) > maxResponderCertificates || len(o.basic.Data.Responses) > maxResponses {
		return nil, errors.New("the OCSP response contains too many certificates or responses")
	}
	for _, raw := range o.basic.Certificates {
		c, err := x509.ParseCertificate(raw.FullBytes)
		if err != nil {
			return nil, bad
		}
		if err := CheckKeySize(c); err != nil {
			return nil, err
		}
		o.certificates = append(o.certificates, c)
	}
	return o, nil
}

// encodes reports whether der is exactly the DER encoding of v. encoding/asn1 ignores unexpected elements, which the
// signature does not cover.
func encodes(v any, der []byte) bool {
	again, err := asn1.Marshal(v)
	return err == nil && bytes.Equal(again, der)
}

// about returns the response's statement about a certificate. The response must be signed by the certificate's issuer,
// or by a responder that this issuer has certified for OCSP (RFC 6960, section 4.2.2.2).
func (o *ocspAnswer) about(c, issuer *x509.Certificate, may *checks) (answer, error) {
	var a answer
	found := false
	for i := range o.basic.Data.Responses {
		r := &o.basic.Data.Responses[i]
		if r.ID.Serial == nil || r.ID.Serial.Cmp(c.SerialNumber) != 0 || !r.names(issuer) {
			continue
		}
		if hasCritical(r.Extensions) {
			return answer{}, errCritical
		}
		switch {
		case bool(r.Good):
		case !r.Revoked.At.IsZero():
			a.revoke(r.Revoked.At, int(r.Revoked.Reason), r.Extensions)
		default:
			return answer{}, errors.New("the OCSP responder does not know the certificate")
		}
		if !found || r.ThisUpdate.Before(a.Updated) {
			a.Updated = r.ThisUpdate.UTC()
		}
		found = true
	}
	if !found {
		return answer{}, errOther
	}
	if hasCritical(o.basic.Data.Extensions) {
		return answer{}, errCritical
	}
	return a, o.checkSignature(issuer, may)
}

var errCritical = errors.New("the OCSP response has an unsupported critical extension")

func hasCritical(extensions []pkix.Extension) bool {
	return slices.ContainsFunc(extensions, func(x pkix.Extension) bool { return x.Critical })
}

// names reports whether the response is about a certificate issued by the given issuer.
func (r *singleResponse) names(issuer *x509.Certificate) bool {
	hash, ok := idHashes[r.ID.Hash.Algorithm.String()]
	if !ok {
		return false
	}
	var spki struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(issuer.RawSubjectPublicKeyInfo, &spki); err != nil {
		return false
	}
	sum := func(b []byte) []byte {
		h := hash.New()
		h.Write(b)
		return h.Sum(nil)
	}
	return bytes.Equal(r.ID.IssuerName, sum(issuer.RawSubject)) && bytes.Equal(r.ID.IssuerKey, sum(spki.Key.RightAlign()))
}

// checkSignature checks that the response is signed by the issuer or its delegate.
func (o *ocspAnswer) checkSignature(issuer *x509.Certificate, may *checks) error {
	algorithm, ok := signatureAlgorithms[o.basic.Algorithm.Algorithm.String()]
	if !ok {
		return errors.New("the OCSP response has an unsupported signature algorithm")
	}
	signed := func(c *x509.Certificate) bool {
		return may.spend() == nil && c.CheckSignature(algorithm, o.basic.Data.Raw, o.basic.Signature.RightAlign()) == nil
	}
	if signed(issuer) {
		return nil
	}
	for _, c := range o.certificates {
		if !signed(c) {
			continue
		}
		at := o.basic.Data.ProducedAt
		switch {
		case !bytes.Equal(c.RawIssuer, issuer.RawSubject) || may.spend() != nil || issuer.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) != nil:
			return errors.New("the OCSP responder is not authorized by the certificate's issuer")
		case c.IsCA || !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
			return errors.New("the OCSP responder's certificate may not sign OCSP responses")
		case hasExtension(c, oidKeyUsage) && c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0:
			return errors.New("the OCSP responder's key may not be used for signatures")
		case at.Before(c.NotBefore) || at.After(c.NotAfter):
			return errors.New("the OCSP responder's certificate was not valid at the time of the response")
		}
		return nil
	}
	return errors.New("the OCSP response is not signed by the certificate's issuer")
}
