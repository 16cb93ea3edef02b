package models

import (
	"time"

	"github.com/google/uuid"
)

// ReminderInterval returns the time between reminders according to the envelope, or the tenant's interval by default.
func (e *Envelope) ReminderInterval(tenant time.Duration) time.Duration {
	return hoursOr(e.ReminderHours, tenant)
}

// ReminderAt returns the time of an awaited signer's next reminder, which is due one interval after the last
// invitation or reminder among the given emails of the envelope. It returns nil if the signer receives no reminders,
// or if the audit trail has no capacity for another one.
func (e *Envelope) ReminderAt(s *Signer, mails []Mail, interval time.Duration) *time.Time {
	if interval <= 0 || !e.Status.Open() || !s.Awaited() || s.Silent || s.LinkIssuedAt == nil || !e.hasCapacity(2) {
		return nil
	}
	var last time.Time
	since := s.Predecessor().Until // earlier emails went to the former signer
	for i := range mails {
		m := &mails[i]
		if m.SignerID != s.ID || m.Kind != MailInvitation && m.Kind != MailReminder {
			continue
		}
		if at := m.settledAt(); at != nil && at.After(last) && at.After(since) {
			last = *at
		}
	}
	if last.IsZero() { // the invitation has not been sent yet
		last = *s.LinkIssuedAt
	}
	return new(last.Add(interval).UTC())
}

// NextReminder returns the due time of the first reminder to an awaited signer, or nil if none is scheduled.
func (e *Envelope) NextReminder(mails []Mail, interval time.Duration) *time.Time {
	return e.firstTime(func(s *Signer) *time.Time { return e.ReminderAt(s, mails, interval) })
}

// RemindersSettled returns the number of automatic reminders to a signer that were sent or have permanently failed.
func RemindersSettled(mails []Mail, signer uuid.UUID) (n int) {
	for i := range mails {
		if m := &mails[i]; m.SignerID == signer && m.Kind == MailReminder && m.RequestID == nil && m.settledAt() != nil {
			n++
		}
	}
	return n
}

// Settled reports whether the email was sent or has permanently failed.
func (m *Mail) Settled() bool { return m.settledAt() != nil }

// settledAt returns the time at which the email was sent or permanently failed, or nil if it is still pending.
func (m *Mail) settledAt() *time.Time {
	return firstNonNil(m.SentAt, m.FailedAt)
}

// OpenSince returns the time at which the current routing group opened, which is the time of sending or of the last
// signature in the previous groups.
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
