// Package trust decides whom a verification trusts: the sealer, the authorities that confirm times, and the sources of
// revocation data. Its input is parsed certificates, times and statements whose signatures over the document are
// already verified. It reads no file and makes no request.
//
// The rules follow ETSI EN 319 102-1 (validation with proofs of existence), RFC 5280, RFC 6960 and RFC 3161. A
// question without an answer never counts as answered well.
package trust

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Policy says whom a verification trusts. The zero value trusts no one.
type Policy struct {
	// Sealers may seal. Empty: nobody.
	Sealers []Sealer
	// Stampers are the authorities under which time-stamp authorities are
	// trusted. Nil: time-stamps are not confirmed here, which is no reason to
	// distrust a seal.
	Stampers *x509.CertPool
	// RecordKeys are the keys that sign records, by key id. Nil: the key that a
	// record names is believed if the seal is trusted, because the seal covers it.
	RecordKeys map[string]RecordKey
}

// Sealer is a party that may seal: exactly one of Certificate, Key and Issuer is
// set. A certificate or key is pinned: no authority is needed, and none can
// issue a second one.
type Sealer struct {
	Certificate *x509.Certificate
	Key         crypto.PublicKey
	Issuer      *x509.Certificate // an authority under which sealing certificates are trusted
	// Organisation narrows Issuer to certificates that name exactly this one
	// organisation; "": all.
	Organisation string
	// Revoked says that a pinned certificate's key was revoked by who pins it.
	Revoked *Revocation
}

// Revocation says from when on something is not to be believed any more.
type Revocation struct {
	At     time.Time
	Reason string
}

// RecordKey is a key that signs records.
type RecordKey struct {
	Key     crypto.PublicKey
	Revoked *Revocation
}

// PinnedCertificate trusts one certificate.
func PinnedCertificate(c *x509.Certificate) Sealer { return Sealer{Certificate: c} }

// pinnedKey trusts one key, whatever certificate it comes with.
func pinnedKey(key crypto.PublicKey) Sealer { return Sealer{Key: key} }

// IssuedBy trusts the proper sealing certificates issued by an authority, or by one below it: all of them, or those of
// exactly one organization.
func IssuedBy(authority *x509.Certificate, organisation string) Sealer {
	return Sealer{Issuer: authority, Organisation: organisation}
}

// Check reports a sealer that can never match, with the reason.
func (s Sealer) Check() error {
	switch {
	case s.Issuer != nil && !isAuthority(s.Issuer):
		return fmt.Errorf("the certificate of %s is not one of an authority; pin it as a sealer instead", Name(s.Issuer))
	case s.Certificate != nil:
		if err := CheckUsage(s.Certificate, true); err != nil {
			return fmt.Errorf("the certificate of %s may not seal: %w", Name(s.Certificate), err)
		}
	case s.Issuer == nil && s.Key == nil:
		return errors.New("a sealer is a certificate, a key or an authority")
	}
	return nil
}

func isAuthority(c *x509.Certificate) bool {
	return c.BasicConstraintsValid && c.IsCA && (c.KeyUsage == 0 || c.KeyUsage&x509.KeyUsageCertSign != 0)
}

// sameKey compares public keys. None is the same as another.
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

// revokes reports whether the revocation that s holds is about the
// certificate: of a pinned certificate its key is revoked, in every other
// certificate too.
func (s Sealer) revokes(c *x509.Certificate) bool {
	key := s.Key
	if s.Certificate != nil {
		key = s.Certificate.PublicKey
	}
	return s.Revoked != nil && sameKey(key, c.PublicKey)
}
