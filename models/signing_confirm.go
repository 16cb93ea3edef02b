package models

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"time"
)

// Lifetimes of a confirmation by one-time code.
const (
	// SessionLifetime is the lifetime of a confirmation that is bound to a session.
	SessionLifetime = 24 * time.Hour
	// UnboundConfirmationLifetime is the lifetime of a confirmation that is bound only to an address and user agent.
	UnboundConfirmationLifetime = 30 * time.Minute
)

// client returns a hash that identifies a client without a session: the SHA-256 of its address and user agent.
func (act *ActionContext) client() []byte {
	sum := sha256.Sum256([]byte(act.IP + "\x00" + act.UserAgent))
	return sum[:]
}

// confirm records that the acting client was confirmed as the signer. If the confirmation is bound to a session, the
// parameter session is the hash of that session.
func (s *Signer) confirm(act ActionContext, session []byte) {
	s.OTPVerifiedAt, s.SessionHash, s.ConfirmedBy = new(act.At), bytes.Clone(session), act.client()
}

// Confirmed reports whether the acting client was confirmed as the signer through the current link. If no code is
// required, possession of the link is sufficient.
func (s *Signer) Confirmed(act ActionContext) bool {
	if !s.NeedsCode() {
		return true
	}
	if s.OTPVerifiedAt == nil {
		return false
	}
	age := act.At.Sub(*s.OTPVerifiedAt)
	if s.SessionHash != nil {
		return age < SessionLifetime && subtle.ConstantTimeCompare(s.SessionHash, act.Session) == 1
	}
	return age < UnboundConfirmationLifetime && bytes.Equal(s.ConfirmedBy, act.client())
}

// SessionExpiry returns the time at which a session that was confirmed at the given time ends. This is one day later,
// or when the link expires if that is earlier.
func (s *Signer) SessionExpiry(at time.Time) time.Time {
	end := at.Add(SessionLifetime)
	if s.LinkExpiresAt != nil && s.LinkExpiresAt.Before(end) {
		return *s.LinkExpiresAt
	}
	return end
}

// ConfirmedReader is like Reader, but also requires a confirmed client.
func (e *Envelope) ConfirmedReader(act ActionContext, l Link) (*Signer, error) {
	return e.authorizeConfirmed(l, act, ActionRead, ErrLinkInvalid)
}

// codeResendDelay is the time that pages advise a signer to wait before requesting another code. The service enforces
// only OTPRequestLimit.
const codeResendDelay = 30 * time.Second

// CodeState is the state of the link's one-time codes, as shown to the signer.
type CodeState struct {
	LiveUntil     *time.Time // expiry of the current code; nil if no code is valid
	TriesLeft     *int       // attempts left for the current code; nil if no code is valid
	RequestableAt *time.Time // earliest reasonable time for another request; nil if a request is reasonable now
	Locked        bool       // whether a new link is required
}

// CodeState returns the state of the codes for the signer's link, or nil if the signer needs no code.
func (s *Signer) CodeState(at time.Time) *CodeState {
	if !s.NeedsCode() {
		return nil
	}
	st := &CodeState{Locked: s.OTPWrong >= OTPWrongLimit}
	if s.liveCode(at) {
		st.LiveUntil, st.TriesLeft = s.OTPExpiresAt, new(OTPTries-s.OTPFailures)
	}
	recent := within(s.OTPRequests, at, OTPRequestWindow)
	if len(recent) == 0 {
		return st
	}
	next := recent[len(recent)-1].Add(codeResendDelay)
	if len(recent) >= OTPRequestLimit {
		if free := recent[0].Add(OTPRequestWindow); free.After(next) {
			next = free
		}
	}
	if next.After(at) {
		st.RequestableAt = &next
	}
	return st
}

func (s *Signer) liveCode(at time.Time) bool {
	return s.OTPHash != nil && s.OTPExpiresAt != nil && at.Before(*s.OTPExpiresAt)
}
