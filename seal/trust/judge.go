package trust

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Status is the outcome of one question.
type Status int

// The outcomes.
const (
	Unknown       Status = iota // it cannot be said, and need not be
	Trusted                     // yes
	Untrusted                   // it may be sound, but rests on somebody not trusted here, or not any more
	Contradictory               // it contradicts what is known for certain
)

// Finding is an outcome with a sentence that explains it, which ends in a full
// stop.
type Finding struct {
	Status Status
	Detail string
}

func finding(s Status, format string, args ...any) Finding {
	return Finding{s, fmt.Sprintf(format, args...)}
}

// Seal is what is to be judged. Its signatures hold.
type Seal struct {
	// Certificates are those that the seal carries, the signer's first.
	Certificates []*x509.Certificate
	// RecordKeyID and RecordKey signed the record; a nil key is not judged.
	RecordKeyID string
	RecordKey   crypto.PublicKey
	// Stamps are the time-stamps, the outermost first: document time-stamps from
	// the last one backwards, then the signature's own.
	Stamps   []Stamp
	Evidence Evidence
}

// Stamp is a time-stamp.
type Stamp struct {
	Certificates []*x509.Certificate // the signer's first
	Time         time.Time
}

// Judgement is the answer to all questions.
type Judgement struct {
	Sealer     Finding
	By         string // who sealed, for a sentence; believed if Sealer is trusted
	Stamps     []Finding
	Revocation Finding
	RecordKey  Finding
	// Proven is before when the seal existed for certain: the time of the
	// innermost time-stamp that is trusted; zero if there is none.
	Proven time.Time
	// HasStatements tells that evidence speaks of the sealing certificate.
	HasStatements bool
}

// skew is how far the clocks of authorities may differ.
const skew = 5 * time.Minute

// Judge judges a seal at a moment. The outermost time-stamp is judged now, each
// inner one at the time that the next outer one proves, and the seal at the
// time that the innermost proves (EN 319 102-1, 5.6.3).
func (p Policy) Judge(ctx context.Context, in Seal, now time.Time) (Judgement, error) {
	var j Judgement
	known := parseStatements(in.Evidence)
	at := now
	for _, s := range in.Stamps {
		if err := ctx.Err(); err != nil {
			return j, err
		}
		f := p.stamp(s, at, known)
		if f.Status == Trusted {
			at, j.Proven = s.Time, s.Time
		}
		j.Stamps = append(j.Stamps, f)
	}
	if len(in.Certificates) == 0 {
		j.Sealer = finding(Untrusted, "The seal carries no certificate.")
		return j, nil
	}
	if err := ctx.Err(); err != nil {
		return j, err
	}
	j.By = Name(in.Certificates[0])
	var chain []*x509.Certificate
	j.Sealer, chain = p.sealer(in, at, !j.Proven.IsZero())
	j.revocation(chain, at, known)
	j.RecordKey = p.recordKey(in, j)
	return j, nil
}

// stamp judges one time-stamp at a moment.
func (p Policy) stamp(s Stamp, at time.Time, known statements) Finding {
	if len(s.Certificates) == 0 {
		return finding(Untrusted, "A time-stamp carries no certificate.")
	}
	leaf := s.Certificates[0]
	who, when := Name(leaf), utc(s.Time)
	if p.Stampers == nil {
		return finding(Unknown, "%s says %s; no time-stamp authority is named here that would confirm it.", who, when)
	}
	if s.Time.After(at.Add(skew)) {
		return finding(Untrusted, "%s says %s, which is after %s, when it was there already.", who, when, utc(at))
	}
	if err := checkStamper(leaf); err != nil {
		return finding(Untrusted, "%s says %s, but its certificate is not one of a time-stamp authority: %v.", who, when, err)
	}
	// Both at the moment of the stamp and at the moment of the judgement.
	for _, t := range []time.Time{s.Time, at} {
		if t.Before(leaf.NotBefore.Add(-skew)) || t.After(leaf.NotAfter) {
			return finding(Untrusted, "%s says %s, but its certificate was valid from %s to %s, which does not cover %s.",
				who, when, utc(leaf.NotBefore), utc(leaf.NotAfter), utc(t))
		}
	}
	chains, err := verifyChains(s.Certificates, p.Stampers, at, x509.ExtKeyUsageTimeStamping)
	if err != nil {
		return finding(Untrusted, "%s says %s, but no time-stamp authority named here issued its certificate.", who, when)
	}
	chain := chains[0]
	for i := 0; i+1 < len(chain); i++ {
		r := known.weigh(chain[i], chain[i+1]).Revoked
		if r == nil || r.At.After(at) || i == 0 && r.keyIsSafe() && r.At.After(s.Time) {
			continue
		}
		return finding(Untrusted, "%s says %s, but the certificate of %s was revoked on %s.", who, when, Name(chain[i]), utc(r.At))
	}
	return finding(Trusted, "%s confirms %s.", who, when)
}

// sealer judges who sealed, and returns the chain that it rests on.
func (p Policy) sealer(in Seal, at time.Time, proven bool) (Finding, []*x509.Certificate) {
	leaf := in.Certificates[0]
	chain := Chain(in.Certificates)
	who := Name(leaf)
	if at.Before(leaf.NotBefore) || at.After(leaf.NotAfter) {
		why := "."
		if !proven {
			why = ", and no time-stamp confirmed here proves that the seal is older."
		}
		return finding(Untrusted, "The certificate of %s was valid from %s to %s, which does not cover %s%s",
			who, utc(leaf.NotBefore), utc(leaf.NotAfter), utc(at), why), chain
	}
	for _, s := range p.Sealers {
		if s.revokes(leaf) && (!proven || !at.Before(s.Revoked.At)) {
			return finding(Untrusted, "The key of %s was revoked here on %s%s%s", who, utc(s.Revoked.At), because(s.Revoked.Reason), notOlder(proven)), chain
		}
	}
	reason := fmt.Sprintf("The certificate of %s is sound, but neither it nor an authority of it is trusted here.", who)
	for _, s := range p.Sealers {
		if s.Issuer == nil && !s.pins(leaf) {
			continue
		}
		if s.Issuer == nil {
			if err := CheckUsage(leaf, true); err != nil {
				reason = fmt.Sprintf("The certificate of %s may not seal: %v.", who, err)
				continue
			}
			return finding(Trusted, "Sealed by %s, whose certificate or key is known here.", who), chain
		}
		roots := x509.NewCertPool()
		roots.AddCert(s.Issuer)
		chains, err := verifyChains(in.Certificates, roots, at, x509.ExtKeyUsageAny)
		if err != nil {
			continue
		}
		if err := CheckUsage(leaf, false); err != nil {
			reason = fmt.Sprintf("The certificate of %s may not seal: %v.", who, err)
			continue
		}
		fit := slices.IndexFunc(chains, func(c []*x509.Certificate) bool {
			err = checkIssuers(c[:len(c)-1])
			return err == nil
		})
		if fit < 0 {
			reason = fmt.Sprintf("The certificate of %s may not seal: %v.", who, err)
			continue
		}
		if s.Organisation != "" && (len(leaf.Subject.Organization) != 1 || leaf.Subject.Organization[0] != s.Organisation) {
			reason = fmt.Sprintf("The certificate is of %s, not of exactly %q.", who, s.Organisation)
			continue
		}
		return finding(Trusted, "Sealed by %s, whose certificate was issued under %s.", who, Name(s.Issuer)), chains[fit]
	}
	return Finding{Untrusted, reason}, chain
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + Printable(reason) + ")"
}

func notOlder(proven bool) string {
	if proven {
		return ", before the document was sealed."
	}
	return ", and no time-stamp confirmed here proves that the seal is older."
}

// revocation judges what is known about the sealing certificate and those above
// it. A statement counts as good if it was made after the time that is proven:
// an earlier one does not know what happened until then.
func (j *Judgement) revocation(chain []*x509.Certificate, at time.Time, known statements) {
	proven := !j.Proven.IsZero()
	var oldest time.Time // of the newest good statements about each certificate
	missing := false
	for i := 0; i+1 < len(chain); i++ {
		k := known.weigh(chain[i], chain[i+1])
		j.HasStatements = j.HasStatements || i == 0 && (!k.Good.IsZero() || k.Revoked != nil)
		if r := k.Revoked; r != nil && !r.At.After(at) {
			j.Revocation = finding(Untrusted, "The certificate of %s was revoked on %s%s", Name(chain[i]), utc(r.At), notOlder(proven))
			return
		}
		if k.Revoked != nil { // later than the seal, so it was good then
			continue
		}
		missing = missing || k.Good.IsZero()
		if oldest.IsZero() || k.Good.Before(oldest) {
			oldest = k.Good
		}
	}
	switch {
	case !j.HasStatements:
		j.Revocation = finding(Unknown, "Revocation is not known: the file holds no statement about the sealing certificate.")
	case missing:
		j.Revocation = finding(Unknown, "Revocation is not known: the file holds no statement about an authority of the sealing certificate.")
	case !proven:
		j.Revocation = finding(Unknown, "A statement says that the certificate was not revoked on %s, but no time-stamp confirmed here proves that the seal is older.", utc(oldest))
	case !oldest.IsZero() && oldest.Before(j.Proven):
		j.Revocation = finding(Unknown, "The statement that the certificate was not revoked is of %s, which is before it was sealed.", utc(oldest))
	default:
		j.Revocation = finding(Trusted, "The authority's statements say that the certificate was not revoked when the document was sealed.")
	}
}

// recordKey judges the key that signed the record.
func (p Policy) recordKey(in Seal, j Judgement) Finding {
	if in.RecordKey == nil {
		return Finding{}
	}
	id := Printable(in.RecordKeyID)
	if p.RecordKeys == nil {
		if j.Sealer.Status == Trusted {
			return finding(Trusted, "The seal, which is trusted, covers the record and its key.")
		}
		return finding(Untrusted, "Nothing that is trusted here vouches for the record's key.")
	}
	known, ok := p.RecordKeys[in.RecordKeyID]
	switch {
	case !ok:
		return finding(Untrusted, "The record's key %q is not among the keys trusted here.", id)
	case !sameKey(known.Key, in.RecordKey):
		return finding(Contradictory, "The record was signed with another key than the one known as %q.", id)
	case known.Revoked != nil && (j.Proven.IsZero() || !j.Proven.Before(known.Revoked.At)):
		return finding(Untrusted, "The record's key %q was revoked on %s%s%s", id, utc(known.Revoked.At), because(known.Revoked.Reason), notOlder(!j.Proven.IsZero()))
	}
	return finding(Trusted, "The record's key %q is known here.", id)
}

// verifyChains returns the chains from the first certificate to the roots.
func verifyChains(certificates []*x509.Certificate, roots *x509.CertPool, at time.Time, usage x509.ExtKeyUsage) ([][]*x509.Certificate, error) {
	between := x509.NewCertPool()
	for _, c := range certificates[1:] {
		between.AddCert(c)
	}
	return certificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage},
	})
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
