package audit

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"time"

	"countersign/seal/cms"
	"countersign/seal/trust"
	"countersign/store"
)

// anchorStamp contains the content of an anchor's token and the result of its verification.
type anchorStamp struct {
	err     error // the reason that the token is invalid
	stamp   trust.Stamp
	finding trust.Finding
}

// stamps reads and judges the tokens of all anchors, and returns them by number. Each list contains the digest of the
// previous one, so its time-stamp proves that all earlier lists existed. Each token is therefore judged as of the time
// confirmed by the next trusted token, and the last one as of now.
func (v Verifier) stamps(ctx context.Context) (map[int64]*anchorStamp, error) {
	all := make(map[int64]*anchorStamp)
	var order []*anchorStamp // valid stamps, newest last
	same := make(map[[sha256.Size]byte][]*x509.Certificate)
	for last := int64(0); ; {
		rows, err := v.Store.Anchors(ctx, last, pageSize)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			s := readStamp(&rows[i], same)
			all[rows[i].Number] = s
			if s.err == nil {
				order = append(order, s)
			}
			last = rows[i].Number
		}
		if len(rows) < pageSize {
			break
		}
	}
	list := make([]trust.Stamp, len(order))
	for i, s := range order {
		list[len(list)-1-i] = s.stamp
	}
	findings := trust.Policy{Stampers: v.TSARoots}.EvaluateStamps(list, v.Revocation, v.Now())
	for i, s := range order {
		s.finding = findings[len(findings)-1-i]
	}
	return all, nil
}

// readStamp reads an anchor's token. Identical certificates share memory, because most anchors come from the same
// authority.
func readStamp(a *store.Anchor, same map[[sha256.Size]byte][]*x509.Certificate) *anchorStamp {
	digest, err := hex.DecodeString(a.Digest)
	if err != nil {
		return &anchorStamp{err: errors.New("the anchor's digest cannot be parsed")}
	}
	t, err := cms.ParseToken(a.Token)
	if err != nil {
		return &anchorStamp{err: err}
	}
	if err := t.Verify(digest); err != nil {
		return &anchorStamp{err: err}
	}
	// The signer's certificate comes first, followed by the certificates that may complete the chain to a root.
	certificates := append([]*x509.Certificate{t.Certificate}, t.Certificates...)
	h := sha256.New()
	for _, c := range certificates {
		h.Write(c.Raw)
	}
	key := [sha256.Size]byte(h.Sum(nil))
	if known, ok := same[key]; ok {
		certificates = known
	}
	same[key] = certificates
	return &anchorStamp{stamp: trust.Stamp{Certificates: certificates, Time: t.Time}}
}

// token reports whether a trusted authority has confirmed the digest of an anchor's list.
func (v Verifier) token(r *Report, a *store.Anchor, stamps map[int64]*anchorStamp) {
	s := stamps[a.Number]
	if s == nil { // the anchor was created after the others were read
		s = readStamp(a, make(map[[sha256.Size]byte][]*x509.Certificate))
		if s.err == nil {
			s.finding = trust.Policy{Stampers: v.TSARoots}.EvaluateStamps([]trust.Stamp{s.stamp}, v.Revocation, v.Now())[0]
		}
	}
	if s.err != nil {
		r.add("the time-stamp is not valid: %s", s.err)
		return
	}
	r.Anchor.StampedAt, r.Anchor.Authority = &s.stamp.Time, s.stamp.Certificates[0].Subject.String()
	f, name := s.finding, r.Anchor.Authority
	switch f.Code {
	case trust.CodeConfirmed:
		r.Anchor.Trusted = true
	case trust.CodeNotConfirmed: // no configured authority could confirm the token
	case trust.CodeUsage:
		r.add("the time-stamp was issued by %s, whose certificate may not be used for time-stamping: %s", name, f.Reason)
	case trust.CodeNotValid:
		r.add("the time-stamp was issued by %s, whose certificate was valid from %s to %s, which does not cover %s", name, date(f.From), date(f.To), date(f.At))
	case trust.CodeRevoked:
		r.add("the time-stamp was issued by %s, but the certificate of %s was revoked at %s", name, f.Reason, date(f.At))
	case trust.CodeTimesFall:
		r.add("the time-stamp states %s, but already existed at %s", date(f.Time), date(f.At))
	default:
		r.add("the time-stamp was issued by %s, which is not trusted", name)
	}
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
