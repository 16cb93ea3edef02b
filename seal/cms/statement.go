package cms

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
	"golang.org/x/crypto/ocsp"

	"countersign/seal/trust"
)

// Statement is an authority's statement about the revocation of one certificate, in DER. At most one of OCSP and CRL is
// set.
type Statement struct{ OCSP, CRL []byte }

// RevocationSources reports whether the authority of a certificate publishes revocations by OCSP, by CRL, or not at
// all. FetchStatement uses the same rule, so the certificates in a file determine the statements that the file must
// contain.
func RevocationSources(c *x509.Certificate) (byOCSP, byCRL bool) {
	return len(c.OCSPServer) > 0, len(c.OCSPServer) == 0 && len(c.CRLDistributionPoints) > 0
}

// FetchStatement requests a statement about a certificate from its authority. The statement is empty if the certificate
// specifies neither an OCSP responder nor a revocation list. Parts of the response that the authority's signature does
// not cover are removed.
func FetchStatement(ctx context.Context, client *http.Client, c, issuer *x509.Certificate) (Statement, error) {
	var s Statement
	var b []byte
	var err error
	switch byOCSP, byCRL := RevocationSources(c); {
	case byOCSP:
		if b, err = queryOCSP(ctx, client, c, issuer); err == nil {
			s.OCSP, err = normalizeOCSP(b, c, issuer)
		}
	case byCRL:
		if b, err = fetch(ctx, client, http.MethodGet, c.CRLDistributionPoints[0], "", nil); err == nil {
			s.CRL, err = normalizeCRL(b, issuer)
		}
	}
	return s, err
}

// CheckValid checks that a statement is about a certificate, is signed by the certificate's issuer or that issuer's
// delegate, and contains nothing that the signature does not cover. It does not check the content or the time of the
// statement.
func (s Statement) CheckValid(c, issuer *x509.Certificate) error {
	switch {
	case s.OCSP != nil && s.CRL == nil:
		b, err := normalizeOCSP(s.OCSP, c, issuer)
		if err == nil && !bytes.Equal(b, s.OCSP) {
			err = errors.New("cms: an OCSP response is not in the canonical form of a seal")
		}
		return err
	case s.CRL != nil && s.OCSP == nil:
		b, err := normalizeCRL(s.CRL, issuer)
		if err == nil && !bytes.Equal(b, s.CRL) {
			err = errors.New("cms: a revocation list is not in the canonical form of a seal")
		}
		return err
	}
	return errors.New("cms: no revocation data")
}

// CheckGood returns an error if the statement reports a revocation at or before the given time. The statement must be
// valid.
func (s Statement) CheckGood(c, issuer *x509.Certificate, at time.Time) error {
	known := trust.CombineStatements(trust.Evidence{OCSPs: [][]byte{s.OCSP}, CRLs: [][]byte{s.CRL}}, c, issuer)
	switch {
	case known.Revoked != nil && !known.Revoked.At.After(at):
		return ErrRevoked
	case known.Revoked == nil && known.Good.IsZero():
		return ErrNoEvidence
	}
	return nil
}

// normalizeCRL returns a revocation list in canonical form.
func normalizeCRL(der []byte, issuer *x509.Certificate) ([]byte, error) {
	in := cryptobyte.String(der)
	var list, data, algorithm cryptobyte.String
	var sum []byte
	if !in.ReadASN1(&list, cbasn1.SEQUENCE) || !in.Empty() || !list.ReadASN1Element(&data, cbasn1.SEQUENCE) ||
		!list.ReadASN1Element(&algorithm, cbasn1.SEQUENCE) || !list.ReadASN1BitStringAsBytes(&sum) || !list.Empty() {
		return nil, errors.New("cms: a revocation list is malformed")
	}
	l, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, errors.New("cms: a revocation list is malformed")
	}
	if !bytes.Equal(l.RawIssuer, issuer.RawSubject) || l.CheckSignatureFrom(issuer) != nil {
		return nil, errors.New("cms: a revocation list is not from the certificate's issuer")
	}
	signature, err := normalizeSignature(issuer.PublicKey, sum)
	if err != nil {
		return nil, err
	}
	return sequence(data, algorithm, bitString(signature)), nil
}

// normalizeOCSP returns an OCSP response in canonical form. It contains the certificate of a delegated responder, but
// no certificate if the issuer itself signed the response.
func normalizeOCSP(der []byte, c, issuer *x509.Certificate) ([]byte, error) {
	bad := func(what string) ([]byte, error) { return nil, fmt.Errorf("cms: %s", what) }
	if len(der) > trust.MaxOCSP {
		return bad("the OCSP response is too large")
	}
	// Check the key size before calling ParseResponseForCert, which verifies a signature with the key in the response.
	in := cryptobyte.String(der)
	var response, wrapped, bytesOf, octets, basic, data, algorithm, carriers, list cryptobyte.String
	var sum []byte
	var carries bool
	var status int
	var kind asn1.ObjectIdentifier
	if !in.ReadASN1(&response, cbasn1.SEQUENCE) || !response.ReadASN1Enum(&status) || !response.ReadASN1(&wrapped, tag0) ||
		!wrapped.ReadASN1(&bytesOf, cbasn1.SEQUENCE) || !bytesOf.ReadASN1ObjectIdentifier(&kind) || !bytesOf.ReadASN1(&octets, cbasn1.OCTET_STRING) ||
		!octets.ReadASN1(&basic, cbasn1.SEQUENCE) || !basic.ReadASN1Element(&data, cbasn1.SEQUENCE) || !basic.ReadASN1(&algorithm, cbasn1.SEQUENCE) ||
		!basic.ReadASN1BitStringAsBytes(&sum) ||
		!basic.ReadOptionalASN1(&carriers, &carries, tag0) || carries && !carriers.ReadASN1(&list, cbasn1.SEQUENCE) {
		return bad("the OCSP response is malformed")
	}
	if first := cryptobyte.String(nil); list.ReadASN1Element(&first, cbasn1.SEQUENCE) { // only the first certificate is used
		if responder, err := x509.ParseCertificate(first); err != nil || trust.CheckKeySize(responder) != nil {
			return bad("the OCSP signer's certificate is malformed, or the signer's key is too large")
		}
	}
	r, err := ocsp.ParseResponseForCert(der, c, issuer)
	if err != nil {
		return bad("the OCSP response is malformed, about another certificate, or not signed by the issuer")
	}
	responder := issuer
	var carried *x509.Certificate
	if r.Certificate != nil && r.CheckSignatureFrom(issuer) != nil {
		responder, carried = r.Certificate, r.Certificate
		if carried.IsCA || !slices.Contains(carried.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) { // RFC 6960, 4.2.2.2
			return bad("the signer of the OCSP response is not authorized for OCSP")
		}
	}
	hashes := map[x509.SignatureAlgorithm]crypto.Hash{
		x509.SHA256WithRSA: crypto.SHA256, x509.SHA384WithRSA: crypto.SHA384, x509.SHA512WithRSA: crypto.SHA512,
		x509.ECDSAWithSHA256: crypto.SHA256, x509.ECDSAWithSHA384: crypto.SHA384, x509.ECDSAWithSHA512: crypto.SHA512,
	}
	h, ok := hashes[r.SignatureAlgorithm]
	if !ok {
		return bad("the signature algorithm of the OCSP response is not supported")
	}
	identifier, err := signatureAlgorithm(responder, h)
	if err != nil {
		return bad("the signature algorithm of the OCSP response is not supported")
	}
	signature, err := normalizeSignature(responder.PublicKey, sum)
	if err != nil {
		return bad("the signature of the OCSP response is malformed")
	}
	var certificates []byte
	if carried != nil {
		certificates = element(tag0, sequence(carried.Raw))
	}
	answer := sequence(data, identifier, bitString(signature), certificates)
	return sequence(
		element(cbasn1.ENUM, []byte{byte(ocsp.Success)}),
		element(tag0, sequence(objectID(kind), element(cbasn1.OCTET_STRING, answer))),
	), nil
}

// maxEvidence is the maximum size of one OCSP response or revocation list, in bytes.
const maxEvidence = 4 << 20

func queryOCSP(ctx context.Context, client *http.Client, c, issuer *x509.Certificate) ([]byte, error) {
	req, err := ocsp.CreateRequest(c, issuer, &ocsp.RequestOptions{Hash: crypto.SHA256})
	if err != nil {
		return nil, fmt.Errorf("cms: OCSP: %w", err)
	}
	return fetch(ctx, client, http.MethodPost, c.OCSPServer[0], "application/ocsp-request", req)
}

func fetch(ctx context.Context, client *http.Client, method, url, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("cms: invalid address of revocation data")
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cms: revocation data: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cms: revocation data: HTTP status %d", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxEvidence+1))
	if err != nil {
		return nil, fmt.Errorf("cms: revocation data: %w", err)
	}
	if len(b) > maxEvidence {
		return nil, errors.New("cms: revocation data is too large")
	}
	return b, nil
}

// Errors returned by CheckGood.
var (
	ErrRevoked    = errors.New("the certificate is revoked")
	ErrNoEvidence = errors.New("no revocation data for the certificate")
)
