package models

import "time"

// Outcome is the outcome of a signer's link.
type Outcome string

// The possible outcomes. OutcomeClosed means that the envelope no longer accepts signatures and this signer did not
// sign.
const (
	OutcomeOpen     Outcome = "open"
	OutcomeSigned   Outcome = "signed"
	OutcomeDeclined Outcome = "declined"
	OutcomeClosed   Outcome = "closed"
)

// LinkOutcome is the outcome of a link, as shown to its holder.
type LinkOutcome struct {
	Outcome         Outcome
	At              *time.Time // nil while the link is open
	DeclinedByOther bool       // whether another signer closed the envelope by declining
	Awaiting        []*Signer  // signers who have not signed yet
}

// OutcomeOf returns the outcome of the link, which must be the signer's latest one.
func (e *Envelope) OutcomeOf(l Link, at time.Time) (LinkOutcome, error) {
	s := e.Signer(l.SignerID)
	if s == nil || s.LinkID == nil || *s.LinkID != l.ID {
		return LinkOutcome{}, ErrLinkInvalid
	}
	end := LinkOutcome{Outcome: OutcomeOpen}
	var declined *time.Time
	for _, g := range e.Signers {
		switch {
		case g.Status == SignerDeclined:
			declined = g.DeclinedAt
			end.DeclinedByOther = g != s
		case g.Status != SignerSigned && e.Status.Open() && !e.DeadlinePassed(at):
			end.Awaiting = append(end.Awaiting, g)
		}
	}
	expired := e.DeadlinePassed(at) || s.LinkExpiresAt != nil && !at.Before(*s.LinkExpiresAt)
	switch {
	case s.Status == SignerSigned:
		end.Outcome, end.At = OutcomeSigned, s.SignedAt
	case s.Status == SignerDeclined:
		end.Outcome, end.At = OutcomeDeclined, s.DeclinedAt
	case e.Status == StatusVoided:
		end.Outcome, end.At = OutcomeClosed, e.VoidedAt
	case declined != nil:
		end.Outcome, end.At = OutcomeClosed, declined
	case expired:
		end.Outcome, end.At = OutcomeClosed, e.LinkExpiry(s)
	}
	return end, nil
}

// IsSameClient reports whether the acting client is the one that signed, declined, or was confirmed as the signer.
// Only that client may see the receipt. If the signer needs no code, the client is recognized for a limited time by
// its address and user agent.
func (s *Signer) IsSameClient(act ActionContext) bool {
	if s.NeedsCode() {
		return s.Confirmed(act)
	}
	return s.SignedAt != nil && act.At.Sub(*s.SignedAt) < UnboundConfirmationLifetime && s.IP == act.IP && s.UserAgent == act.UserAgent
}
