package models

import (
	"time"

	"github.com/google/uuid"
)

// ReminderInterval is the time between reminders: the envelope's own, or else the
// tenant's.
func (e *Envelope) ReminderInterval(tenant time.Duration) time.Duration {
	return hoursOr(e.ReminderHours, tenant)
}

// ReminderAt returns when an awaited signer is reminded: one interval after the last invitation or reminder. It is nil
// for a signer who gets no reminder, and if the audit trail has no room for one. mails are the envelope's.
func (e *Envelope) ReminderAt(s *Signer, mails []Mail, interval time.Duration) *time.Time {
	if interval <= 0 || !e.Status.Open() || !s.Awaited() || s.Silent || s.LinkIssuedAt == nil || !e.roomFor(2) {
		return nil
	}
	var last time.Time
	since := s.Predecessor().Until // the mails before went to somebody else
	for i := range mails {
		m := &mails[i]
		if m.SignerID != s.ID || m.Kind != MailInvitation && m.Kind != MailReminder {
			continue
		}
		if at := m.settledAt(); at != nil && at.After(last) && at.After(since) {
			last = *at
		}
	}
	if last.IsZero() { // the invitation is still on its way
		last = *s.LinkIssuedAt
	}
	return new(last.Add(interval).UTC())
}

// NextReminder is when the first of the awaited signers is to be reminded; nil if
// no one is.
func (e *Envelope) NextReminder(mails []Mail, interval time.Duration) *time.Time {
	return e.firstTime(func(s *Signer) *time.Time { return e.ReminderAt(s, mails, interval) })
}

// RemindersSettled counts the reminders to a signer that nobody requested and that went out or were given up.
func RemindersSettled(mails []Mail, signer uuid.UUID) (n int) {
	for i := range mails {
		if m := &mails[i]; m.SignerID == signer && m.Kind == MailReminder && m.RequestID == nil && m.settledAt() != nil {
			n++
		}
	}
	return n
}

// Settled reports whether the mail went out or was given up.
func (m *Mail) Settled() bool { return m.settledAt() != nil }

// settledAt is when the mail went out or was given up; nil while neither is so.
func (m *Mail) settledAt() *time.Time {
	return firstNonNil(m.SentAt, m.FailedAt)
}

// OpenSince is when the routing group that is awaited began to be: when the
// envelope was sent, or when the last signer of the groups before signed.
func (e *Envelope) OpenSince() time.Time {
	var since time.Time
	if e.SentAt != nil {
		since = e.SentAt.UTC()
	}
	signers, _ := e.Routing()
	group := signers.OpenGroup()
	for _, s := range e.Signers {
		if s.RoutingOrder < group && s.SignedAt != nil && s.SignedAt.After(since) {
			since = s.SignedAt.UTC()
		}
	}
	return since
}
