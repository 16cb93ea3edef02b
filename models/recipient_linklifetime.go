package models

import "time"

// LinkLifetime is how long a link is good where no deadline ends it sooner.
const LinkLifetime = 30 * 24 * time.Hour

// RenewBefore is how long before its end a link is replaced, if the envelope is
// open for longer.
const RenewBefore = 3 * 24 * time.Hour

// RenewLinkAt is when the link of an awaited signer is to be replaced; nil where
// the deadline ends it, and where the sender delivered it, who would not have the new one.
func (e *Envelope) RenewLinkAt(s *Signer) *time.Time {
	if !e.Status.Open() || !s.Awaited() || s.Silent || s.LinkExpiresAt == nil || e.DeadlinePassed(s.LinkExpiresAt.UTC()) || !e.roomFor(3) {
		return nil
	}
	return new(s.LinkExpiresAt.Add(-RenewBefore))
}

// NextRenewal is when the first link is to be replaced; nil where none is.
func (e *Envelope) NextRenewal() *time.Time {
	return e.firstTime(e.RenewLinkAt)
}

// firstTime returns the earliest of the times that of returns for signers; nil if there is none.
func (e *Envelope) firstTime(of func(*Signer) *time.Time) *time.Time {
	var first *time.Time
	for _, s := range e.Signers {
		if at := of(s); at != nil && (first == nil || at.Before(*first)) {
			first = at
		}
	}
	return first
}

// issueLink gives the signer a new link. The old one, its code and its
// verification end at once. The deadline, which can be moved, ends no link by
// itself: it is read from the envelope whenever a link is used.
func (e *Envelope) issueLink(act ActionContext, s *Signer) {
	s.LinkID, s.LinkIssuedAt, s.LinkExpiresAt = new(act.NewID()), new(act.At), new(act.At.Add(LinkLifetime))
	s.OTPHash, s.OTPExpiresAt, s.OTPVerifiedAt, s.OTPRequests = nil, nil, nil, nil
	s.OTPFailures, s.OTPWrong, s.Pages.Codes = 0, 0, 0
	s.SessionHash, s.ConfirmedBy = nil, nil
	s.Shown, s.ShownSigners = "", nil
}
