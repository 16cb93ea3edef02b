package models

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits of corrections to a sent envelope.
const (
	ResendLimit  = 5 // invitations resent per signer within resendWindow
	CopyLimit    = 5 // copies resent per recipient within resendWindow
	resendWindow = time.Hour
	// remindWindow is the period in which the sender can request at most one reminder per signer.
	remindWindow = time.Hour
	// MaxReplacements is the maximum number of times that a signer can be replaced.
	MaxReplacements = 20
	// maxDeadline is the maximum time from now to a deadline.
	maxDeadline = 3650 * 24 * time.Hour
)

// PreviousSigner is a former signer, whom another person replaced.
type PreviousSigner struct {
	Name   string    `json:"name"`
	Email  string    `json:"email"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Previous returns the people whom this signer replaced, oldest first.
func (s *Signer) Previous() []PreviousSigner {
	var out []PreviousSigner
	if s.PreviousJSON != nil {
		_ = json.Unmarshal([]byte(*s.PreviousJSON), &out) // always valid, because replacePerson wrote it
	}
	return out
}

// Predecessor returns the last element of Previous, or the zero value if the signer replaced nobody.
func (s *Signer) Predecessor() PreviousSigner {
	if previous := s.Previous(); len(previous) > 0 {
		return previous[len(previous)-1]
	}
	return PreviousSigner{}
}

// Replacement describes the person who replaces a signer.
type Replacement struct {
	Name       string
	Email      string
	Phone      *string
	AuthMethod AuthMethod // empty to keep the current method
	Reason     *string
}

// Replace replaces a recipient with another person. The former recipient's link, code and consent become invalid
// immediately. If it is the recipient's turn, a link or a copy notice is sent to the new recipient.
func (e *Envelope) Replace(act ActionContext, recipient uuid.UUID, in Replacement) (*Signer, error) {
	s := e.Recipient(recipient)
	if s == nil {
		return nil, ErrNotFound
	}
	if err := e.check(ActionReplace); err != nil {
		return nil, err
	}
	if s.HasActed() {
		return nil, Reject(KindConflict, "already_signed", "This signer has already signed.")
	}
	if err := e.replacePerson(act, s, in); err != nil {
		return nil, err
	}
	s.Delegated = false
	e.transition(ActionReplace)
	name := EventSignerReplaced
	if !s.rules().counts {
		name = EventCopyReplaced
	}
	e.recordSuccession(act, name, s, in)
	return s, nil
}

// Delegate lets a signer delegate signing to another person. This is possible only once, and only if the sender
// permitted it.
func (e *Envelope) Delegate(act ActionContext, l Link, in Replacement) (*Signer, error) {
	s, err := e.authorizeConfirmed(l, act, ActionDelegate, Reject(KindConflict, "already_signed_or_declined", "This signer has already signed or declined."))
	if err != nil {
		return nil, err
	}
	if !s.AllowDelegation {
		return nil, Reject(KindForbidden, "delegation_not_allowed", "The sender did not allow this signer to delegate.")
	}
	if s.Delegated {
		return nil, Reject(KindConflict, "delegation_exhausted", "This signature was already delegated once.")
	}
	in.AuthMethod = s.AuthMethod
	for _, other := range e.Recipients() {
		if EmailKey(other.Email) == EmailKey(in.Email) {
			return nil, InvalidField("email", "must be the address of a person who is not a signer of this envelope")
		}
	}
	if err := e.replacePerson(act, s, in); err != nil {
		return nil, err
	}
	s.Delegated = true
	e.transition(ActionDelegate)
	e.recordSuccession(act, EventSignerDelegated, s, in)
	return s, nil
}

// replacePerson replaces a signer with another person, and resets the state of the former signer.
func (e *Envelope) replacePerson(act ActionContext, s *Signer, in Replacement) error {
	if in.AuthMethod == "" {
		in.AuthMethod = s.AuthMethod
	}
	p := Problems{}
	made := s.input()
	made.Name, made.Email, made.Phone, made.AuthMethod = in.Name, in.Email, in.Phone, in.AuthMethod
	made.Check(p, "")
	if e.witnessedAddress(s, in.Email) {
		p.Add("email", "must differ from the email addresses of the witnessed signer and the witness")
	}
	CheckParagraph(p, "reason", Deref(in.Reason, ""), 0, 1000)
	if err := p.Err(); err != nil {
		return err
	}
	previous := s.Previous()
	if len(previous) >= MaxReplacements {
		return Reject(KindConflict, "too_many_replacements", "A signer can be replaced at most %d times.", MaxReplacements)
	}
	before := PreviousSigner{Name: s.Name, Email: s.Email, Until: act.At, Reason: Deref(in.Reason, "")}
	text, err := json.Marshal(append(previous, before))
	if err != nil {
		return err
	}
	made.apply(s)
	s.PreviousJSON = new(string(text))
	s.ViewedAt, s.ConsentAt, s.ConsentVersion, s.PageViews, s.LastViewed, s.Resends, s.RemindedAt = nil, nil, "", 0, "", nil, nil
	s.Opened, s.Pages = nil, PageLog{}
	switch {
	case !s.Awaited():
	case s.rules().counts:
		s.Status = SignerSent
		e.issueLink(act, s)
	default:
		s.LinkIssuedAt = new(act.At) // a copy recipient has no link; the notice is sent again
	}
	e.renumberSigners()
	return nil
}

// recordSuccession records the replacement of a signer. The audit chain identifies each person by number rather than
// by name.
func (e *Envelope) recordSuccession(act ActionContext, name EventName, s *Signer, in Replacement) {
	e.record(act, name, s.ID, addReason(Detail{"signerId": s.ID.String(), "person": len(s.Previous()) + 1}, in.Reason))
}

// Resend issues a new link, which the service sends to an awaited signer, up to ResendLimit times within resendWindow.
// The old link becomes invalid.
func (e *Envelope) Resend(act ActionContext, signer uuid.UUID) (*Signer, error) {
	s, err := e.awaitedSigner(ActionResend, signer)
	if err != nil {
		return nil, err
	}
	if s.Resends, err = appendWithinLimit(s.Resends, act.At, resendWindow, ResendLimit, "resend_rate_limited", "Too many new links were sent to this signer. Please wait."); err != nil {
		return nil, err
	}
	e.issueLink(act, s)
	e.record(act, EventLinkRenewed, s.ID, Detail{"signerId": s.ID.String()})
	return s, nil
}

// Remind requests that a reminder be emailed to an awaited signer, at most once per remindWindow. The link does not
// change.
func (e *Envelope) Remind(act ActionContext, signer uuid.UUID) (*Signer, error) {
	s, err := e.awaitedSigner(ActionRemind, signer)
	switch {
	case err != nil:
		return nil, err
	case e.DeadlinePassed(act.At):
		return nil, Reject(KindConflict, "envelope_deadline_passed", "The deadline has passed; the signer can no longer sign.")
	case !s.InvitedByMail():
		return nil, Reject(KindConflict, "signer_not_notified", "The service sends this signer no email (`notify` is false); send the link yourself.")
	}
	if last := s.RemindedAt; last != nil && act.At.Sub(*last) < remindWindow {
		rejected := Reject(KindRateLimited, "reminder_rate_limited", "This signer was reminded less than an hour ago. Please wait.")
		rejected.RetryAfter = last.Add(remindWindow).Sub(act.At)
		return nil, rejected
	}
	s.RemindedAt = new(act.At)
	e.record(act, EventReminderRequested, s.ID, Detail{"signerId": s.ID.String()})
	return s, nil
}

// appendWithinLimit returns the times in the window before the given time, followed by that time. It returns an error
// if the window already contains the maximum number of times.
func appendWithinLimit(times []time.Time, at time.Time, window time.Duration, most int, code, message string) ([]time.Time, error) {
	recent := within(times, at, window)
	if len(recent) >= most {
		rejected := Reject(KindRateLimited, code, "%s", message)
		rejected.RetryAfter = recent[0].Add(window).Sub(at)
		return times, rejected
	}
	return append(recent, at), nil
}

// within returns the times in the window before the given time. The times must be in ascending order.
func within(times []time.Time, at time.Time, window time.Duration) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(t time.Time) bool { return at.Sub(t) >= window })
}

// awaitedSigner returns the signer, or an error unless the signer can currently act.
func (e *Envelope) awaitedSigner(action Action, signer uuid.UUID) (*Signer, error) {
	s := e.Signer(signer)
	if s == nil {
		return nil, ErrNotFound
	}
	if err := e.check(action); err != nil {
		return nil, err
	}
	if !s.Awaited() {
		return nil, Reject(KindConflict, "signer_not_awaited", "The signer is %s and cannot act now.", string(s.Status))
	}
	return s, nil
}

// IssueLink returns the signing link of an awaited signer to the sender. It is the current link, or a new one if the
// current link has expired or rotate is set. The signer keeps the progress made with the current link.
func (e *Envelope) IssueLink(act ActionContext, signer uuid.UUID, rotate bool) (*Signer, error) {
	s, err := e.awaitedSigner(ActionIssueLink, signer)
	if err != nil {
		return nil, err
	}
	if e.DeadlinePassed(act.At) {
		return nil, Reject(KindConflict, "envelope_deadline_passed", "The deadline has passed; a link would not be valid.")
	}
	rotate = rotate || s.LinkExpiresAt == nil || !act.At.Before(*s.LinkExpiresAt)
	if rotate {
		e.issueLink(act, s)
	}
	e.record(act, EventLinkIssued, s.ID, Detail{"signerId": s.ID.String(), "rotated": rotate})
	return s, nil
}

// LinkUntil ensures that an awaited signer has a link for an embedded page that is valid until the given time. It
// issues a new link only if the current one expires earlier. It returns an error if the signer has been replaced since
// the caller loaded seen.
func (e *Envelope) LinkUntil(act ActionContext, seen *Signer, until time.Time) error {
	s, err := e.CheckEmbed(seen.ID, act.At)
	switch {
	case err != nil:
		return err
	case len(s.Previous()) != len(seen.Previous()): // the signer is a different person
		return errSignerChanged
	case s.linkValidUntil(until):
		return nil
	}
	_, err = e.IssueLink(act, s.ID, true)
	return err
}

// linkValidUntil reports whether the signer's link is valid until the given time, regardless of the envelope's
// deadline.
func (s *Signer) linkValidUntil(until time.Time) bool {
	return s.LinkID != nil && s.LinkExpiresAt != nil && !s.LinkExpiresAt.Before(until)
}

// LinkExpiry returns the time at which a signer's link expires, which is the earlier of the link's own expiry and the
// deadline.
func (e *Envelope) LinkExpiry(s *Signer) *time.Time {
	if s.LinkExpiresAt != nil && e.ExpiresAt != nil && e.ExpiresAt.Before(*s.LinkExpiresAt) {
		return e.ExpiresAt
	}
	return s.LinkExpiresAt
}

// Patch edits a draft, or changes the deadline and reminders of a sent envelope.
func (e *Envelope) Patch(act ActionContext, in EnvelopeEdit) error {
	if e.Status == StatusDraft {
		if in.ExpiresAt.Present {
			return InvalidField("expiresAt", "can only be changed for a sent envelope; for a draft, use expiresInDays")
		}
		return e.Edit(act, in)
	}
	return e.reschedule(act, in)
}

func (e *Envelope) reschedule(act ActionContext, in EnvelopeEdit) error {
	if in.Labels.Present && !in.changesMoreThanLabels() {
		return e.label(in.Labels.Value)
	}
	if in.Subject.Present || in.Message.Present || in.Metadata.Present {
		return e.check(ActionEditEnvelope)
	}
	if err := e.check(ActionReschedule); err != nil {
		return err
	}
	p := Problems{}
	checkReminderHours(p, in.ReminderHours.Value)
	checkLabels(p, in.Labels.Value)
	if in.ExpiresInDays.Present {
		p.Add("expiresInDays", "can only be changed in a draft; for a sent envelope, use expiresAt")
	}
	if at := in.ExpiresAt.Value; at != nil && (!at.After(act.At) || at.Sub(act.At) > maxDeadline) {
		p.Add("expiresAt", "must be in the future, and within 3650 days, or null for no deadline")
	}
	if err := p.Err(); err != nil {
		return err
	}
	in.Labels.Apply(&e.Labels)
	detail := Detail{}
	if in.ExpiresAt.Present {
		e.ExpiresAt, detail["expiresAt"] = nil, nil
		if at := in.ExpiresAt.Value; at != nil {
			utc := at.UTC().Truncate(time.Microsecond)
			e.ExpiresAt, detail["expiresAt"] = &utc, FormatTime(utc)
		}
	}
	if in.ReminderHours.Present {
		e.ReminderHours, detail["reminderHours"] = in.ReminderHours.Value, nil
		if h := in.ReminderHours.Value; h != nil {
			detail["reminderHours"] = *h
		}
	}
	if len(detail) == 0 {
		return nil
	}
	e.transition(ActionReschedule)
	e.record(act, EventEnvelopeUpdated, uuid.Nil, detail)
	return nil
}

func (in EnvelopeEdit) changesMoreThanLabels() bool {
	return in.Subject.Present || in.Message.Present || in.ExpiresInDays.Present || in.ReminderHours.Present || in.Metadata.Present || in.ExpiresAt.Present
}

// RequestCopies requests that the sealed files be sent to a recipient again, at most CopyLimit times within
// resendWindow.
func (e *Envelope) RequestCopies(act ActionContext, email string) (*Signer, error) {
	if err := e.check(ActionSendCopies); err != nil {
		return nil, err
	}
	p := Problems{}
	CheckEmail(p, "email", email)
	if err := p.Err(); err != nil {
		return nil, err
	}
	s := find(e.Recipients(), func(s *Signer) bool { return EmailKey(s.Email) == EmailKey(email) })
	if s == nil {
		return nil, InvalidField("email", "must be the address of a recipient of this envelope")
	}
	if slices.ContainsFunc(e.Sealed(), func(d *Document) bool { return d.PurgeStatus == PurgePurged }) {
		return nil, ErrPurged
	}
	var err error
	if s.Copies, err = appendWithinLimit(s.Copies, act.At, resendWindow, CopyLimit, "copies_rate_limited", "The files were sent to this address too many times. Please wait."); err != nil {
		return nil, err
	}
	e.record(act, EventCopyRequested, s.ID, Detail{"signerId": s.ID.String()})
	return s, nil
}

// CopySent records that the links to the sealed files were sent again.
func (e *Envelope) CopySent(act ActionContext, signer uuid.UUID, mailID string) error {
	if err := e.check(ActionSendCopies); err != nil {
		return err
	}
	e.record(act, EventCopySent, signer, Detail{"signerId": signer.String()}).MailID = mailID
	return nil
}
