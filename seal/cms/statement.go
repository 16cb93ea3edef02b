package cms

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
	"golang.org/x/crypto/ocsp"
)

// Statement is what an authority says about the revocation of one certificate.
// At most one of OCSP and CRL is set, in DER.
type Statement struct{ OCSP, CRL []byte }

// RevocationSources reports how the authority of a certificate tells of revocations: by
// OCSP, by list, or not at all. Statement follows it, so that which statements
// a file must hold follows from its certificates.
func RevocationSources(c *x509.Certificate) (byOCSP, byCRL bool) {
	return len(c.OCSPServer) > 0, len(c.OCSPServer) == 0 && len(c.CRLDistributionPoints) > 0
}

// FetchStatement asks the authority about a certificate. One that names neither an OCSP
// responder nor a list gives an empty statement. What the authority's signature
// does not cover is left out of the answer.
func FetchStatement(ctx context.Context, client *http.Client, c, issuer *x509.Certificate) (Statement, error) {
	byOCSP, byCRL := RevocationSources(c)
	switch {
	case byOCSP:
		b, err := askOCSP(ctx, client, c, issuer)
		if err != nil {
			return Statement{}, err
		}
		if b, err = NormalizeOCSP(b, c, issuer); err != nil {
			return Statement{}, err
		}
		return Statement{OCSP: b}, nil
	case byCRL:
		b, err := fetch(ctx, client, http.MethodGet, c.CRLDistributionPoints[0], "", nil)
		if err != nil {
			return Statement{}, err
		}
		if b, err = NormalizeCRL(b, issuer); err != nil {
			return Statement{}, err
		}
		return Statement{CRL: b}, nil
	}
	return Statement{}, nil
}

// CheckSound checks that a statement is about a certificate, signed by its issuer or
// whom that delegated, and holds nothing that this signature does not cover.
// What it says, and when, is not looked at.
func (s Statement) CheckSound(c, issuer *x509.Certificate) error {
	switch {
	case s.OCSP != nil && s.CRL == nil:
		b, err := NormalizeOCSP(s.OCSP, c, issuer)
		if err == nil && !bytes.Equal(b, s.OCSP) {
			err = errors.New("cms: an OCSP answer is not in the form in which the seal writes it")
		}
		return err
	case s.CRL != nil && s.OCSP == nil:
		b, err := NormalizeCRL(s.CRL, issuer)
		if err == nil && !bytes.Equal(b, s.CRL) {
			err = errors.New("cms: a revocation list is not in the form in which the seal writes it")
		}
		return err
	}
	return errors.New("cms: no statement")
}

// CheckGood returns an error if the statement, which is sound, tells of a revocation
// at or before the given time.
func (s Statement) CheckGood(c, issuer *x509.Certificate, at time.Time) error {
	e := Evidence{}
	if s.OCSP != nil {
		e.OCSPs = [][]byte{s.OCSP}
	} else {
		e.CRLs = [][]byte{s.CRL}
	}
	_, err := e.Check(c, issuer, at)
	return err
}

// NormalizeCRL returns a list in one form.
func NormalizeCRL(der []byte, issuer *x509.Certificate) ([]byte, error) {
	in := cryptobyte.String(der)
	var list, data, algorithm, sum cryptobyte.String
	if !in.ReadASN1(&list, cbasn1.SEQUENCE) || !in.Empty() || !list.ReadASN1Element(&data, cbasn1.SEQUENCE) ||
		!list.ReadASN1Element(&algorithm, cbasn1.SEQUENCE) || !list.ReadASN1(&sum, cbasn1.BIT_STRING) || !list.Empty() || len(sum) == 0 || sum[0] != 0 {
		return nil, errors.New("cms: a revocation list is malformed")
	}
	l, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, errors.New("cms: a revocation list is malformed")
	}
	if !bytes.Equal(l.RawIssuer, issuer.RawSubject) || l.CheckSignatureFrom(issuer) != nil {
		return nil, errors.New("cms: a revocation list is not of the certificate's issuer")
	}
	signature, err := normalizeSignature(issuer.PublicKey, sum[1:])
	if err != nil {
		return nil, err
	}
	b := cryptobyte.NewBuilder(nil)
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(data)
		b.AddBytes(algorithm)
		b.AddASN1BitString(signature)
	})
	return b.Bytes()
}

// NormalizeOCSP returns an answer in one form: with the certificate of a
// delegated responder alone, if the issuer did not sign itself.
func NormalizeOCSP(der []byte, c, issuer *x509.Certificate) ([]byte, error) {
	bad := func(what string) ([]byte, error) { return nil, fmt.Errorf("cms: OCSP answer: %s", what) }
	r, err := ocsp.ParseResponseForCert(der, c, issuer)
	if err != nil {
		return bad("it is malformed, about another certificate, or not signed by the issuer")
	}
	// What ParseResponse reads, read again for what lies around the signed part.
	in := cryptobyte.String(der)
	var response, wrapped, bytesOf, octets, basic, data, algorithm, sum cryptobyte.String
	var status int
	var kind asn1.ObjectIdentifier
	if !in.ReadASN1(&response, cbasn1.SEQUENCE) || !response.ReadASN1Enum(&status) || !response.ReadASN1(&wrapped, tag0) ||
		!wrapped.ReadASN1(&bytesOf, cbasn1.SEQUENCE) || !bytesOf.ReadASN1ObjectIdentifier(&kind) || !bytesOf.ReadASN1(&octets, cbasn1.OCTET_STRING) ||
		!octets.ReadASN1(&basic, cbasn1.SEQUENCE) || !basic.ReadASN1Element(&data, cbasn1.SEQUENCE) || !basic.ReadASN1(&algorithm, cbasn1.SEQUENCE) ||
		!basic.ReadASN1(&sum, cbasn1.BIT_STRING) || len(sum) == 0 || sum[0] != 0 {
		return bad("it is malformed")
	}
	responder := issuer
	var carried *x509.Certificate
	if r.Certificate != nil && r.CheckSignatureFrom(issuer) != nil {
		responder, carried = r.Certificate, r.Certificate
		if carried.IsCA || !slices.Contains(carried.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) { // RFC 6960, 4.2.2.2
			return bad("its signer was not certified for OCSP")
		}
	}
	hashes := map[x509.SignatureAlgorithm]crypto.Hash{
		x509.SHA256WithRSA: crypto.SHA256, x509.SHA384WithRSA: crypto.SHA384, x509.SHA512WithRSA: crypto.SHA512,
		x509.ECDSAWithSHA256: crypto.SHA256, x509.ECDSAWithSHA384: crypto.SHA384, x509.ECDSAWithSHA512: crypto.SHA512,
	}
	h, ok := hashes[r.SignatureAlgorithm]
	if !ok {
		return bad("its signature algorithm is not supported")
	}
	oid, parameters, err := signatureAlgorithm(responder, h)
	if err != nil {
		return bad("its signature algorithm is not supported")
	}
	signature, err := normalizeSignature(responder.PublicKey, sum[1:])
	if err != nil {
		return bad("its signature is malformed")
	}
	b := cryptobyte.NewBuilder(nil)
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Enum(int64(status))
		b.AddASN1(tag0, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1ObjectIdentifier(kind)
				b.AddASN1(cbasn1.OCTET_STRING, func(b *cryptobyte.Builder) {
					b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
						b.AddBytes(data)
						b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
							b.AddASN1ObjectIdentifier(oid)
							b.AddBytes(parameters)
						})
						b.AddASN1BitString(signature)
						if carried != nil {
							b.AddASN1(tag0, func(b *cryptobyte.Builder) {
								b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(carried.Raw) })
							})
						}
					})
				})
			})
		})
	})
	return b.Bytes()
}
