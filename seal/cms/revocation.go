package cms

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/crypto/ocsp"

	"countersign/seal/trust"
)

// Evidence is what proves, years later, that certificates were not revoked.
// All of it is DER.
type Evidence struct{ OCSPs, CRLs [][]byte }

// maxEvidence bounds one OCSP answer or revocation list.
const maxEvidence = 4 << 20

func askOCSP(ctx context.Context, client *http.Client, c, issuer *x509.Certificate) ([]byte, error) {
	req, err := ocsp.CreateRequest(c, issuer, &ocsp.RequestOptions{Hash: crypto.SHA256})
	if err != nil {
		return nil, fmt.Errorf("cms: OCSP: %w", err)
	}
	return fetch(ctx, client, http.MethodPost, c.OCSPServer[0], "application/ocsp-request", req)
}

func fetch(ctx context.Context, client *http.Client, method, url, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("cms: bad address of revocation data")
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
		return nil, fmt.Errorf("cms: revocation data: answer %d", resp.StatusCode)
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

// Errors of Check.
var (
	ErrRevoked    = errors.New("certificate is revoked")
	ErrNoEvidence = errors.New("no revocation data for the certificate")
)

// Check weighs all statements about a certificate and returns when the newest
// was made. A revocation at or before the given time is ErrRevoked, whatever
// others say.
func (e Evidence) Check(c, issuer *x509.Certificate, at time.Time) (time.Time, error) {
	known := trust.WeighStatements(trust.Evidence{OCSPs: e.OCSPs, CRLs: e.CRLs}, c, issuer)
	switch {
	case known.Revoked != nil && !known.Revoked.At.After(at):
		return known.Revoked.At, ErrRevoked
	case known.Revoked == nil && known.Good.IsZero():
		return time.Time{}, ErrNoEvidence
	}
	return known.Good, nil
}
