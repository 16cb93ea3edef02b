package cms

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"time"

	"go.mozilla.org/pkcs7"
)

// messageImprint and the types below are the ASN.1 structures of RFC 3161, sections 2.4.1 and 2.4.2.
type messageImprint struct {
	HashAlgorithm pkix.AlgorithmIdentifier
	HashedMessage []byte
}

type timeStampReq struct {
	Version        int
	MessageImprint messageImprint
	Nonce          *big.Int `asn1:"optional"`
	CertReq        bool     `asn1:"optional"`
}

type timeStampResp struct {
	Status struct {
		Status       int
		StatusString []asn1.RawValue `asn1:"optional"`
		FailInfo     asn1.BitString  `asn1:"optional"`
	}
	Token asn1.RawValue `asn1:"optional"`
}

type tstInfo struct {
	Version        int
	Policy         asn1.ObjectIdentifier
	MessageImprint messageImprint
	SerialNumber   *big.Int
	GenTime        time.Time `asn1:"generalized"`
	Accuracy       struct {
		Seconds int `asn1:"optional"`
		Millis  int `asn1:"optional,tag:0"`
		Micros  int `asn1:"optional,tag:1"`
	} `asn1:"optional"`
	Ordering bool          `asn1:"optional"`
	Nonce    *big.Int      `asn1:"optional"`
	TSA      asn1.RawValue `asn1:"optional,explicit,tag:0"`
}

// maxToken is the maximum size of a time-stamp response, in bytes. Real responses are 2 to 7 KiB.
const maxToken = 64 << 10

// Authority is an RFC 3161 time-stamp authority accessed over HTTP.
type Authority struct {
	URL    string
	Client *http.Client
	Rand   io.Reader
}

// Stamp requests a token over a SHA-256 digest and checks the response.
func (a *Authority) Stamp(ctx context.Context, digest []byte) ([]byte, error) {
	nonce, err := rand.Int(a.Rand, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, err
	}
	req, err := asn1.Marshal(timeStampReq{
		Version:        1,
		MessageImprint: messageImprint{pkix.AlgorithmIdentifier{Algorithm: pkcs7.OIDDigestAlgorithmSHA256, Parameters: asn1.NullRawValue}, digest},
		Nonce:          nonce,
		CertReq:        true,
	})
	if err != nil {
		return nil, err
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(req))
	if err != nil {
		return nil, errors.New("invalid address of the time-stamp authority")
	}
	hr.Header.Set("Content-Type", "application/timestamp-query")
	resp, err := a.Client.Do(hr)
	if err != nil {
		return nil, fmt.Errorf("time-stamp authority: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxToken))
	if err != nil {
		return nil, fmt.Errorf("time-stamp authority: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the time-stamp authority returned HTTP status %d", resp.StatusCode)
	}
	return readResponse(body, digest, nonce)
}

func readResponse(body, digest []byte, nonce *big.Int) ([]byte, error) {
	var r timeStampResp
	if _, err := asn1.Unmarshal(body, &r); err != nil {
		return nil, malformed("the response of the time-stamp authority cannot be parsed")
	}
	if r.Status.Status > 1 { // 0 is granted, 1 is grantedWithMods
		return nil, fmt.Errorf("the time-stamp authority rejected the request with status %d", r.Status.Status)
	}
	// Remove or normalize the parts that the authority's signature does not cover, so that nobody can change them
	// later.
	token, err := normalize(r.Token.FullBytes)
	if err != nil {
		return nil, fmt.Errorf("time-stamp: %w", err)
	}
	t, err := ParseTokenStrict(token)
	if err != nil {
		return nil, fmt.Errorf("time-stamp: %w", err)
	}
	if t.nonce == nil || t.nonce.Cmp(nonce) != 0 {
		return nil, errors.New("the time-stamp belongs to another request")
	}
	return token, t.Verify(digest)
}

// Token is a parsed time-stamp token.
type Token struct {
	*Signed
	Time    time.Time
	imprint messageImprint
	nonce   *big.Int
}

// ParseToken parses a time-stamp token in any valid DER form.
func ParseToken(der []byte) (*Token, error) { return parseToken(der, Parse) }

// ParseTokenStrict parses a token over a SHA-256 digest, in the canonical form returned by Stamp.
func ParseTokenStrict(der []byte) (*Token, error) {
	t, err := parseToken(der, ParseStrict)
	if err != nil {
		return nil, err
	}
	if h, err := t.ImprintHash(); err != nil || h != crypto.SHA256 {
		return nil, malformed("the time-stamp does not cover a SHA-256 digest")
	}
	if t.Token != nil {
		return nil, malformed("the time-stamp contains a time-stamp")
	}
	return t, nil
}

func parseToken(der []byte, parse func([]byte) (*Signed, error)) (*Token, error) {
	s, err := parse(der)
	if err != nil {
		return nil, err
	}
	if !s.contentType.Equal(oidTSTInfo) {
		return nil, malformed("not a time-stamp token")
	}
	var info tstInfo
	if rest, err := asn1.Unmarshal(s.content, &info); err != nil || len(rest) > 0 {
		return nil, malformed("time-stamp token")
	}
	return &Token{Signed: s, Time: info.GenTime.UTC(), imprint: info.MessageImprint, nonce: info.Nonce}, nil
}

// ImprintHash returns the algorithm of the time-stamped digest.
func (t *Token) ImprintHash() (crypto.Hash, error) { return hashOf(t.imprint.HashAlgorithm.Algorithm) }

// Verify checks that the token is valid and covers digest.
func (t *Token) Verify(digest []byte) error {
	if !bytes.Equal(t.imprint.HashedMessage, digest) {
		return ErrDigest
	}
	return t.Signed.Verify(hashSum(t.hash, t.content))
}

// StampedDigest returns the digest that a signature time-stamp must cover. It is the digest of the signature value,
// computed with the token's own algorithm.
func (t *Token) StampedDigest(signature []byte) ([]byte, error) {
	alg, err := t.ImprintHash()
	if err != nil {
		return nil, err
	}
	return hashSum(alg, signature), nil
}
