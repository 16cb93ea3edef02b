package trust

import (
	"crypto"
	"crypto/x509"
	"time"
)

// Status is the result of one check.
type Status int

// Values of Status.
const (
	Unknown       Status = iota // cannot be determined and is not required
	Trusted                     // the check passed
	Untrusted                   // may be valid, but depends on a party that is not, or is no longer, trusted here
	Contradictory               // contradicts a known fact
)

// Finding is the result of one check, with the values for its message.
type Finding struct {
	Status Status
	Code   string
	Name   string    // subject of the finding
	Issuer string    // issuer of the subject's certificate
	Time   time.Time // time of the time-stamp, the statement or the revocation
	At     time.Time // time for which the subject was checked
	From   time.Time // start of the certificate's validity period; To is its end
	To     time.Time
	Reason string // completes the message "the certificate may not be used: …"
}

// Seal is the seal to evaluate. Its signatures have been verified.
type Seal struct {
	// Certificates contains the certificates in the seal, starting with the signer's.
	Certificates []*x509.Certificate
	// Claimed is the time of sealing according to the record, or zero if the record contains none. It proves nothing,
	// but must not contradict known facts.
	Claimed time.Time
	// RecordKeyID and RecordKey identify the key that signed the record. A nil key is not checked.
	RecordKeyID string
	RecordKey   crypto.PublicKey
	// Stamps contains the time-stamps, outermost first. The document time-stamps come first, from last to first,
	// followed by the signature's own time-stamp.
	Stamps   []Stamp
	Evidence Evidence
}

// Stamp is a time-stamp.
type Stamp struct {
	Certificates []*x509.Certificate // starting with the signer's
	Time         time.Time
}

// Values of Finding.Code.
const (
	CodePinned       = "pinned"             // the sealer's certificate or key is pinned here
	CodeIssued       = "trusted"            // an authority that is trusted here issued the sealer's certificate
	CodeUnknown      = "untrusted"          // the sealer or the time-stamp authority is not trusted here
	CodeUsage        = "wrong_usage"        // the certificate is for another purpose
	CodeNotValid     = "not_valid_then"     // the certificate was not valid at the time for which it was checked
	CodeRevoked      = "revoked"            // revoked by its authority
	CodeRevokedHere  = "revoked_here"       // revoked by the operator of this installation
	CodeOrganization = "other_organisation" // the organization differs from the trusted one

	CodeConfirmed    = "confirmed"     // a time-stamp confirms the time
	CodeNotConfirmed = "not_confirmed" // no time-stamp authority is configured here
	CodeTimesFall    = "times_fall"    // the time-stamp is later than one that covers it, or than the current time
	CodeBeforeSeal   = "before_seal"   // the time-stamp is earlier than the recorded time of sealing

	CodeGood      = "good"              // every required statement is present
	CodeNothing   = "absent"            // no statement about the sealing certificate
	CodeAuthority = "authority_unknown" // no statement about an authority
	CodeOlder     = "older"             // the statement is older than the seal
	CodeNotProven = "not_proven"        // no proof that the seal is older than the statement

	CodeKnown      = "published"   // the record key is known
	CodeCovered    = "covered"     // a trusted seal covers the record key
	CodeNotCovered = "not_covered" // no trusted seal covers the record key
	CodeNotKnown   = "unknown"     // the record key is not known
	CodeOtherKey   = "other"       // the key differs from the known key with that ID
)

// Evaluation contains the result of every check.
type Evaluation struct {
	Sealer     Finding
	By         string // name of the sealer for messages; reliable only if Sealer is trusted
	Stamps     []Finding
	Revocation Finding
	RecordKey  Finding
	// Proven is the time at which the seal provably existed, from the innermost trusted time-stamp, or zero if there is
	// none.
	Proven time.Time
	// HasStatements reports whether the evidence covers the sealing certificate.
	HasStatements bool
}

// Skew is the maximum permitted difference between the clocks of authorities and sealers.
const Skew = 5 * time.Minute

// Evaluate evaluates a seal at the time now (EN 319 102-1, 5.6.3). It checks the outermost time-stamp at that time, and
// each inner time-stamp at the time proven by the next outer one. It then checks the seal at the time proven by the
// innermost time-stamp. The work is limited by the number of certificates, maxStatements, maxChecks and CheckKeySize.
func (p Policy) Evaluate(in Seal, now time.Time) Evaluation {
	var j Evaluation
	known := parseStatements(in.Evidence)
	j.Stamps, j.Proven = p.stamps(in.Stamps, in.Claimed, now, known)
	at := j.Proven
	if at.IsZero() {
		at = now
	}
	if len(in.Certificates) == 0 {
		j.Sealer = Finding{Status: Untrusted, Code: CodeUnknown}
		return j
	}
	j.By = Name(in.Certificates[0])
	var chain []*x509.Certificate
	j.Sealer, chain = p.sealer(in, at, !j.Proven.IsZero())
	j.revocation(chain, at, known)
	j.RecordKey = p.recordKey(in, j)
	return j
}

// EvaluateStamps evaluates time-stamps that do not belong to a seal, in the same way as Evaluate. Each time-stamp must
// cover those that follow it. EvaluateStamps checks the first time-stamp at the time now, and each subsequent
// time-stamp at the time proven by the last trusted one before it.
func (p Policy) EvaluateStamps(stamps []Stamp, evidence Evidence, now time.Time) []Finding {
	found, _ := p.stamps(stamps, time.Time{}, now, parseStatements(evidence))
	return found
}

// stamps evaluates time-stamps, and returns the time proven by the last trusted one.
func (p Policy) stamps(stamps []Stamp, claimed, now time.Time, known statements) (found []Finding, proven time.Time) {
	for _, s := range stamps {
		f := p.stamp(s, now, known)
		if f.Status == Trusted && s.Time.Before(claimed.Add(-Skew)) {
			f.Status, f.Code, f.At = Untrusted, CodeBeforeSeal, claimed
		}
		if f.Status == Trusted {
			now, proven = s.Time, s.Time
		}
		found = append(found, f)
	}
	return found, proven
}

// stamp evaluates one time-stamp at a point in time.
func (p Policy) stamp(s Stamp, at time.Time, known statements) Finding {
	f := Finding{Status: Untrusted, Code: CodeUnknown, Time: s.Time, At: at}
	if len(s.Certificates) == 0 {
		return f
	}
	leaf := s.Certificates[0]
	f.Name, f.From, f.To = Name(leaf), leaf.NotBefore, leaf.NotAfter
	if p.Stampers == nil {
		f.Status, f.Code = Unknown, CodeNotConfirmed
		return f
	}
	if s.Time.After(at.Add(Skew)) {
		f.Code = CodeTimesFall
		return f
	}
	if err := checkStamper(leaf); err != nil {
		f.Code, f.Reason = CodeUsage, err.Error()
		return f
	}
	// The certificate must be valid both when the time-stamp was created and at the time for which it is checked.
	for _, t := range []time.Time{s.Time, at} {
		if t.Before(leaf.NotBefore.Add(-Skew)) || t.After(leaf.NotAfter) {
			f.Code, f.At = CodeNotValid, t
			return f
		}
	}
	chains, err := verifyChains(s.Certificates, p.Stampers, at, x509.ExtKeyUsageTimeStamping)
	if err != nil {
		return f
	}
	chain := chains[0]
	for i := 0; i+1 < len(chain); i++ {
		r := known.status(chain[i], chain[i+1]).Revoked
		if r == nil || r.At.After(at) || i == 0 && r.keyIsSafe() && r.At.After(s.Time) {
			continue
		}
		f.Code, f.Reason, f.At = CodeRevoked, Name(chain[i]), r.At
		return f
	}
	f.Status, f.Code, f.Issuer = Trusted, CodeConfirmed, Name(chain[len(chain)-1])
	return f
}

// sealer evaluates the sealer and returns its certificate chain.
func (p Policy) sealer(in Seal, at time.Time, proven bool) (Finding, []*x509.Certificate) {
	leaf := in.Certificates[0]
	chain := Chain(leaf, in.Certificates)
	f := Finding{Status: Untrusted, Code: CodeUnknown, Name: Name(leaf), From: leaf.NotBefore, To: leaf.NotAfter, At: at}
	if at.Before(leaf.NotBefore) || at.After(leaf.NotAfter) {
		f.Code = CodeNotValid
		return f, chain
	}
	if c := in.Claimed; !c.IsZero() && (c.Before(leaf.NotBefore.Add(-Skew)) || c.After(leaf.NotAfter)) {
		f.Code, f.At = CodeNotValid, c
		return f, chain
	}
	for _, s := range p.Sealers {
		if s.revokes(leaf) && (!proven || !at.Before(s.Revoked.At)) {
			f.Code, f.Time, f.Reason = CodeRevokedHere, s.Revoked.At, Printable(s.Revoked.Reason)
			return f, chain
		}
	}
	for _, s := range p.Sealers {
		if s.Issuer == nil && !s.pins(leaf) {
			continue
		}
		if s.Issuer == nil {
			if err := CheckUsage(leaf, true); err != nil {
				f.Code, f.Reason = CodeUsage, err.Error()
				continue
			}
			f.Status, f.Code, f.Reason = Trusted, CodePinned, ""
			return f, chain
		}
		found, code, reason := s.under(in.Certificates, at)
		if found != nil {
			f.Status, f.Code, f.Reason, f.Issuer = Trusted, CodeIssued, "", Name(s.Issuer)
			return f, found
		}
		if code != "" {
			f.Code, f.Reason = code, reason
		}
	}
	return f, chain
}

// under returns the chain from a sealing certificate to the authority trusted by s. If there is no such chain, it
// returns the reason, which is empty if that authority is unrelated to the certificate.
func (s Sealer) under(certificates []*x509.Certificate, at time.Time) (chain []*x509.Certificate, code, reason string) {
	leaf := certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(s.Issuer)
	chains, err := verifyChains(certificates, roots, at, x509.ExtKeyUsageAny)
	if err != nil {
		return nil, "", ""
	}
	if err := CheckUsage(leaf, false); err != nil {
		return nil, CodeUsage, err.Error()
	}
	if s.Organization != "" && (len(leaf.Subject.Organization) != 1 || leaf.Subject.Organization[0] != s.Organization) {
		return nil, CodeOrganization, Printable(s.Organization)
	}
	for _, c := range chains {
		if err = checkIssuers(c[:len(c)-1]); err == nil {
			return c, "", ""
		}
	}
	return nil, CodeUsage, err.Error()
}

// revocation evaluates the revocation status of the sealing certificate and its issuers. A statement that a certificate
// is good counts only if it was issued after the proven time, because an earlier statement cannot cover later events.
func (j *Evaluation) revocation(chain []*x509.Certificate, at time.Time, known statements) {
	f := &j.Revocation
	*f = Finding{Code: CodeNothing, At: at}
	missing := ""
	for i := 0; i+1 < len(chain); i++ {
		k := known.status(chain[i], chain[i+1])
		j.HasStatements = j.HasStatements || i == 0 && (!k.Good.IsZero() || k.Revoked != nil)
		switch {
		case k.Revoked != nil && !k.Revoked.At.After(at):
			*f = Finding{Status: Untrusted, Code: CodeRevoked, Name: Name(chain[i]), Time: k.Revoked.At, At: at}
			return
		case k.Revoked != nil: // revoked after the seal, so good at the time of the seal
		case k.Good.IsZero():
			missing = Name(chain[i])
		case f.Time.IsZero() || k.Good.Before(f.Time):
			f.Time = k.Good
		}
	}
	switch {
	case !j.HasStatements:
	case missing != "":
		f.Code, f.Name = CodeAuthority, missing
	case j.Proven.IsZero():
		f.Code = CodeNotProven
	case !f.Time.IsZero() && f.Time.Before(j.Proven):
		f.Code = CodeOlder
	default:
		f.Status, f.Code = Trusted, CodeGood
	}
}

// recordKey evaluates the key that signed the record.
func (p Policy) recordKey(in Seal, j Evaluation) Finding {
	f := Finding{Status: Untrusted, Name: Printable(in.RecordKeyID)}
	known, ok := p.RecordKeys[in.RecordKeyID]
	switch {
	case in.RecordKey == nil:
		return Finding{}
	case p.RecordKeys == nil && j.Sealer.Status == Trusted:
		f.Status, f.Code = Trusted, CodeCovered
	case p.RecordKeys == nil:
		f.Code = CodeNotCovered
	case !ok:
		f.Code = CodeNotKnown
	case !sameKey(known.Key, in.RecordKey):
		f.Status, f.Code = Contradictory, CodeOtherKey
	case known.Revoked != nil && (j.Proven.IsZero() || !j.Proven.Before(known.Revoked.At)):
		f.Code, f.Time, f.Reason = CodeRevokedHere, known.Revoked.At, Printable(known.Revoked.Reason)
	default:
		f.Status, f.Code = Trusted, CodeKnown
	}
	return f
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
