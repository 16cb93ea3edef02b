package models

import "time"

// LinkLifetime is the lifetime of a link, unless the deadline is earlier.
const LinkLifetime = 30 * 24 * time.Hour

// RenewBefore is the time before a link's expiry at which the link is renewed if the envelope remains open longer.
const RenewBefore = 3 * 24 * time.Hour

// RenewLinkAt returns the time at which the link of an awaited signer is due for renewal. It returns nil if the link
// is valid until the deadline, or if the sender delivers links, because the signer would not receive the new link.
func (e *Envelope) RenewLinkAt(s *Signer) *time.Time {
	if !e.Status.Open() || !s.Awaited() || s.Silent || s.LinkExpiresAt == nil || e.DeadlinePassed(s.LinkExpiresAt.UTC()) || !e.hasCapacity(3) {
		return nil
	}
	return new(s.LinkExpiresAt.Add(-RenewBefore))
}

// NextRenewal returns the time at which the first link is due for renewal, or nil if no renewal is scheduled.
func (e *Envelope) NextRenewal() *time.Time {
	return e.firstTime(e.RenewLinkAt)
}

// firstTime returns the earliest time that the given function returns for any signer, or nil if it always returns nil.
func (e *Envelope) firstTime(of func(*Signer) *time.Time) *time.Time {
	var first *time.Time
	for _, s := range e.Signers {
		if at := of(s); at != nil && (first == nil || at.Before(*first)) {
			first = at
		}
	}
	return first
}

// issueLink issues a new link to the signer. The old link, its code and its verification become invalid immediately.
// The link does not contain the deadline, which can change and is read from the envelope whenever a link is used.
func (e *Envelope) issueLink(act ActionContext, s *Signer) {
	s.LinkID, s.LinkIssuedAt, s.LinkExpiresAt = new(act.NewID()), new(act.At), new(act.At.Add(LinkLifetime))
	s.OTPHash, s.OTPExpiresAt, s.OTPVerifiedAt, s.OTPRequests = nil, nil, nil, nil
	s.OTPFailures, s.OTPWrong, s.Pages.Codes = 0, 0, 0
	s.SessionHash, s.ConfirmedBy = nil, nil
	s.Shown, s.ShownSigners = "", nil
}
