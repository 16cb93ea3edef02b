package seal

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"time"

	"countersign/seal/cms"
)

// judgement is what trust is decided on. Everything in it was read from the
// sealed file and is sound in itself: signatures and digests are right, chains
// are complete as far as they go. Whether any of it is to be believed is judged here.
type judgement struct {
	Chain    []*x509.Certificate // of the seal, the signer's first
	SealedAt time.Time           // as the record claims
	KeyID    string              // of the record
	Key      *ecdsa.PublicKey    // of the record; nil if that cannot be read
	Stamps   []stamp             // the outermost first; the signature's own, if there, is the last
	Evidence []evidence          // of each increment after the seal, the oldest first
}

// stamp is a time-stamp.
type stamp struct {
	Chain    []*x509.Certificate // of the authority, the signer's first
	Time     time.Time
	Document bool  // of the whole file; otherwise of the signature alone
	Covers   int64 // where the bytes that a document time-stamp covers end
}

// evidence is what one increment brought: at most one statement about each
// certificate. The document time-stamp of the same increment covers it.
type evidence struct {
	Statements []statement
	Covers     int64 // where the increment ends
}

// statement is an authority's word about a certificate; one of OCSP and CRL is
// set. Its signature was checked.
type statement struct {
	Certificate, Issuer *x509.Certificate
	OCSP, CRL           []byte // DER
}

// judge adds the findings that depend on whom the verifier trusts.
func (r *Report) judge(j judgement, opt VerifyOptions) {
	proven := r.judgeStamps(j, opt)
	r.judgeRevocation(j)
	trusted := r.judgeSealer(j, opt, proven)
	r.judgeRecordKey(j, opt, trusted)
	r.Level = levelOf(r, j)
}

// judgeStamps returns the earliest time that a trusted time-stamp proves; zero
// if there is none.
func (r *Report) judgeStamps(j judgement, opt VerifyOptions) time.Time {
	var proven time.Time
	var last *stamp // document time-stamp
	for i := range j.Stamps {
		s := &j.Stamps[i]
		trusted := verifyChainTo(s.Chain, opt.TSARoots, s.Time, x509.ExtKeyUsageTimeStamping) == nil
		name := s.Chain[0].Subject
		if trusted {
			proven = s.Time
		}
		switch {
		case s.Document && last == nil:
			last = s
			fallthrough
		case s.Document:
			if !trusted {
				r.add("archive_timestamp.untrusted", values{"name": name, "time": s.Time})
			}
		default:
			r.StampedAt = &s.Time
			if trusted {
				r.add("timestamp.confirmed", values{"name": name, "time": s.Time})
			} else {
				r.add("timestamp.untrusted", values{"name": name, "time": s.Time})
			}
		}
	}
	if r.StampedAt == nil {
		r.add("timestamp.absent", nil)
	}
	switch {
	case last == nil:
		r.add("archive_timestamp.absent", nil)
	case !r.Has("archive_timestamp.untrusted"):
		r.add("archive_timestamp.confirmed", values{"time": last.Time})
	}
	return proven
}

// judgeRevocation looks for embedded statements about the sealing certificate.
func (r *Report) judgeRevocation(j judgement) {
	at := j.SealedAt
	if r.StampedAt != nil {
		at = *r.StampedAt
	}
	good := false
	for _, e := range j.Evidence {
		for _, s := range e.Statements {
			about := false
			for _, c := range j.Chain {
				about = about || c.Equal(s.Certificate)
			}
			if !about {
				continue
			}
			one := cms.Evidence{}
			if s.OCSP != nil {
				one.OCSPs = [][]byte{s.OCSP}
			} else {
				one.CRLs = [][]byte{s.CRL}
			}
			_, err := one.Check(s.Certificate, s.Issuer, at)
			good = good || err == nil
			if errors.Is(err, cms.ErrRevoked) {
				r.add("revocation.revoked", values{"name": s.Certificate.Subject})
				return
			}
		}
	}
	switch {
	case good:
		r.add("revocation.good", nil)
	case len(j.Evidence) > 0:
		r.add("revocation.not_offered", nil)
	default:
		r.add("revocation.absent", nil)
	}
}

// judgeSealer checks the chain at the time that a time-stamp proves; without a
// proof, at the present. It reports whether the sealer is trusted.
func (r *Report) judgeSealer(j judgement, opt VerifyOptions, proven time.Time) bool {
	at := proven
	if at.IsZero() && opt.Now != nil {
		at = opt.Now()
	}
	if at.IsZero() {
		at = j.SealedAt
	}
	leaf := j.Chain[0]
	switch {
	case at.Before(leaf.NotBefore) || at.After(leaf.NotAfter):
		r.add("certificate.not_valid_then", values{"from": leaf.NotBefore, "to": leaf.NotAfter, "time": at})
		return false
	case verifyChainTo(j.Chain, opt.Roots, at, x509.ExtKeyUsageAny) != nil:
		r.add("certificate.untrusted", values{"name": leaf.Subject})
		return false
	}
	r.add("certificate.trusted", values{"name": leaf.Subject, "issuer": j.Chain[len(j.Chain)-1].Subject})
	return true
}

func (r *Report) judgeRecordKey(j judgement, opt VerifyOptions, sealTrusted bool) {
	if j.Key == nil {
		return
	}
	kid := values{"kid": j.KeyID}
	known, ok := opt.ManifestKeys[j.KeyID]
	switch {
	case opt.ManifestKeys == nil && sealTrusted:
		r.add("manifest_key.covered", nil)
	case opt.ManifestKeys == nil:
		r.add("manifest_key.not_covered", nil)
	case !ok:
		r.add("manifest_key.unknown", kid)
	case !j.Key.Equal(known):
		r.add("manifest_key.other", kid)
	default:
		r.add("manifest_key.published", kid)
	}
}

// levelOf is the PAdES baseline level (EN 319 142-1, 6).
func levelOf(r *Report, j judgement) string {
	switch {
	case r.StampedAt == nil:
		return "B-B"
	case r.Status(CheckRevocation) != Passed:
		return "B-T"
	case len(j.Stamps) < 2:
		return "B-LT"
	}
	return "B-LTA"
}

// verifyChainTo checks a chain, the signer's first, up to one of the roots at a time.
func verifyChainTo(chain []*x509.Certificate, roots *x509.CertPool, at time.Time, usage x509.ExtKeyUsage) error {
	if roots == nil {
		roots = x509.NewCertPool()
	}
	inter := x509.NewCertPool()
	for _, c := range chain[1:] {
		inter.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}
