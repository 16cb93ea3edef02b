package trust

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// Evidence is the collected revocation data: OCSP responses and revocation lists, all in DER.
type Evidence struct{ OCSPs, CRLs [][]byte }

// answer is the status of one certificate in one valid statement.
type answer struct {
	Updated time.Time  // time at which the statement applies (thisUpdate)
	Revoked *RevokedAt // nil if not revoked
}

// RevokedAt is a revocation by an authority. Reason is a CRLReason (RFC 5280, section 5.3.1).
type RevokedAt struct {
	At     time.Time
	Reason int
}

// After a revocation for one of these reasons, earlier signatures remain valid even if their time is not proven (RFC
// 3161, section 4), because the key was not compromised.
const (
	reasonAffiliationChanged = 3
	reasonSuperseded         = 4
	reasonCessation          = 5
)

func (r *RevokedAt) keyIsSafe() bool {
	return r.Reason == reasonAffiliationChanged || r.Reason == reasonSuperseded || r.Reason == reasonCessation
}

// errOther reports that a statement is about other certificates.
var errOther = errors.New("the statement applies to other certificates")

// statements contains the readable statements. Unreadable statements are ignored.
type statements struct {
	ocsps []*ocspAnswer
	crls  []*x509.RevocationList
	// cache caches results by certificate and issuer.
	cache  map[string]RevocationStatus
	checks *checks
}

// checks is the remaining number of statement signatures that may be checked.
type checks struct{ left int }

// maxChecks is the initial number of checks. A document with yearly time-stamps over decades requires a few hundred.
const maxChecks = 1024

// errTooMany reports that the permitted number of checks is exhausted.
var errTooMany = errors.New("too many revocation statements")

func (c *checks) spend() error {
	if c.left--; c.left < 0 {
		return errTooMany
	}
	return nil
}

// maxStatements is the maximum number of statements of each type that are read. A document has a few for each of its
// time-stamps.
const maxStatements = 512

func parseStatements(e Evidence) statements {
	s := statements{cache: make(map[string]RevocationStatus), checks: &checks{left: maxChecks}}
	for _, b := range e.OCSPs[:min(len(e.OCSPs), maxStatements)] {
		if o, err := parseOCSP(b); err == nil {
			s.ocsps = append(s.ocsps, o)
		}
	}
	for _, b := range e.CRLs[:min(len(e.CRLs), maxStatements)] {
		if l, err := parseCRL(b); err == nil {
			s.crls = append(s.crls, l)
		}
	}
	return s
}

// RevocationStatus summarizes all statements about a certificate.
type RevocationStatus struct {
	Good    time.Time  // time of the newest statement that reports no revocation; zero if there is none
	Revoked *RevokedAt // earliest revocation in any statement
}

// CombineStatements combines all statements about a certificate. A revocation overrides any number of good statements,
// regardless of the statements' times.
func CombineStatements(e Evidence, c, issuer *x509.Certificate) RevocationStatus {
	return parseStatements(e).status(c, issuer)
}

func (s statements) status(c, issuer *x509.Certificate) RevocationStatus {
	key := string(c.Raw) + string(issuer.Raw)
	k, done := s.cache[key]
	if done {
		return k
	}
	add := func(a answer, err error) {
		switch {
		case err != nil: // no valid statement about this certificate
		case a.Revoked == nil:
			if a.Updated.After(k.Good) {
				k.Good = a.Updated
			}
		case k.Revoked == nil || a.Revoked.At.Before(k.Revoked.At):
			k.Revoked = a.Revoked
		}
	}
	for _, o := range s.ocsps {
		add(o.about(c, issuer, s.checks))
	}
	for _, l := range s.crls {
		add(answerOfCRL(l, c, issuer, s.checks))
	}
	if s.checks.left < 0 { // an unchecked statement may report a revocation
		k.Good = time.Time{}
	}
	s.cache[key] = k
	return k
}

// Chain returns the certificate chain that starts with the first argument and continues with issuers from the second.
func Chain(first *x509.Certificate, others []*x509.Certificate) []*x509.Certificate {
	chain, last := []*x509.Certificate{first}, first
	for len(chain) <= len(others) && !bytes.Equal(last.RawIssuer, last.RawSubject) {
		i := slices.IndexFunc(others, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil
		})
		if i < 0 {
			break
		}
		last = others[i]
		chain = append(chain, last)
	}
	return chain
}
