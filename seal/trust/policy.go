// Package trust decides which sealers, time-stamp authorities and revocation data a verification trusts. Its input
// consists of parsed certificates, times and statements. The signatures over the document have already been verified.
// It reads no files and sends no requests.
//
// The rules follow ETSI EN 319 102-1 (validation with proofs of existence), RFC 5280, RFC 6960 and RFC 3161. An
// undecided check never counts as passed.
package trust

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Policy defines the parties that a verification trusts. The zero value trusts no one.
type Policy struct {
	// Sealers lists the trusted sealers. If it is empty, no sealer is trusted.
	Sealers []Sealer
	// Stampers contains the root certificates of trusted time-stamp authorities. If it is nil, time-stamps are not
	// confirmed, which does not affect trust in a seal.
	Stampers *x509.CertPool
	// RecordKeys contains the keys that sign records, by key ID. If it is nil, a record's key is trusted if the seal is
	// trusted, because the seal covers the key.
	RecordKeys map[string]RecordKey
}

// Sealer is a party that may seal. Exactly one of Certificate, Key and Issuer is set. A certificate or key is pinned,
// so it requires no authority, and no authority can issue a substitute.
type Sealer struct {
	Certificate *x509.Certificate
	Key         crypto.PublicKey
	Issuer      *x509.Certificate // an authority whose sealing certificates are trusted
	// Organization limits Issuer to certificates of exactly this organization. If it is empty, certificates of all
	// organizations are accepted.
	Organization string
	// Revoked records that the key of a pinned certificate was revoked locally.
	Revoked *Revocation
}

// Revocation records the time from which a key is not trusted.
type Revocation struct {
	At     time.Time
	Reason string
}

// RecordKey is a key that signs records.
type RecordKey struct {
	Key     crypto.PublicKey
	Revoked *Revocation
}

// PinnedCertificate returns a Sealer that trusts one certificate.
func PinnedCertificate(c *x509.Certificate) Sealer { return Sealer{Certificate: c} }

// pinnedKey returns a Sealer that trusts one key, regardless of its certificate.
func pinnedKey(key crypto.PublicKey) Sealer { return Sealer{Key: key} }

// IssuedBy returns a Sealer that trusts valid sealing certificates issued directly or indirectly by an authority. It
// trusts either all of them or only certificates of exactly one organization.
func IssuedBy(authority *x509.Certificate, organization string) Sealer {
	return Sealer{Issuer: authority, Organization: organization}
}

// Check returns an error if the sealer can never match any certificate.
func (s Sealer) Check() error {
	switch {
	case s.Issuer != nil && !isAuthority(s.Issuer):
		return fmt.Errorf("the certificate of %s does not belong to an authority; pin it as a sealer instead", Name(s.Issuer))
	case s.Certificate != nil:
		if err := CheckUsage(s.Certificate, true); err != nil {
			return fmt.Errorf("the certificate of %s may not be used for sealing: %w", Name(s.Certificate), err)
		}
	case s.Issuer == nil && s.Key == nil:
		return errors.New("a sealer must be a certificate, a key or an authority")
	}
	return nil
}

func isAuthority(c *x509.Certificate) bool {
	return c.BasicConstraintsValid && c.IsCA && (c.KeyUsage == 0 || c.KeyUsage&x509.KeyUsageCertSign != 0)
}

// sameKey reports whether two public keys are equal. A nil key is not equal to any key.
func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// pins reports whether s pins the certificate or its key.
func (s Sealer) pins(c *x509.Certificate) bool {
	if s.Certificate != nil {
		return bytes.Equal(s.Certificate.Raw, c.Raw)
	}
	return sameKey(s.Key, c.PublicKey)
}

// revokes reports whether the revocation in s applies to the certificate. A revocation of a pinned certificate revokes
// its key, and therefore applies to every certificate with that key.
func (s Sealer) revokes(c *x509.Certificate) bool {
	key := s.Key
	if s.Certificate != nil {
		key = s.Certificate.PublicKey
	}
	return s.Revoked != nil && sameKey(key, c.PublicKey)
}
